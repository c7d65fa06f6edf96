namespace RpcOverShm.FunctionalTests.TwoProcess;

/// <summary>Writes and verifies the known bytes of a stream.</summary>
internal static class StreamChecks
{
    private const int PieceBytes = 32 << 10;

    public static async Task WriteAsync(Stream stream, long bytes)
    {
        var pattern = new BytePattern(0);
        byte[] piece = new byte[PieceBytes];
        for (long left = bytes; left > 0; left -= piece.Length)
        {
            Memory<byte> part = piece.AsMemory(0, (int)Math.Min(left, piece.Length));
            pattern.Fill(part.Span);
            await stream.WriteAsync(part);
        }
    }

    /// <summary>Returns the number of wrong or missing bytes among the next ones.</summary>
    public static Task<long> CountWrongAsync(Stream stream, long bytes) =>
        CountWrongAsync(stream, bytes, new BytePattern(0));

    /// <summary>Returns the same count for a pattern that has already produced earlier bytes.</summary>
    public static async Task<long> CountWrongAsync(Stream stream, long bytes, BytePattern pattern)
    {
        byte[] piece = new byte[PieceBytes];
        long wrong = 0;
        for (long left = bytes; left > 0;)
        {
            int read = await stream.ReadAsync(piece.AsMemory(0, (int)Math.Min(left, piece.Length)));
            if (read == 0)
            {
                return wrong + left;
            }

            wrong += pattern.CountWrong(piece.AsSpan(0, read));
            left -= read;
        }

        return wrong;
    }
}
