namespace RpcOverShm.Samples;

/// <summary>No calls at all: bytes, in both directions, as through a named pipe.</summary>
internal static class RawStream
{
    public static Task ShowAsync(Report report, string address) =>
        report.ShowAsync("-", "raw stream", () => EchoAsync(address));

    private static async Task<string> EchoAsync(string address)
    {
        await using ShmStream stream = await ShmStream.ConnectAsync(address);
        byte[] sent = new byte[1 << 20];
        new Random(1).NextBytes(sent);
        byte[] received = new byte[sent.Length];

        // Both ways at the same time: the stream holds less than this.
        Task writing = stream.WriteAsync(sent).AsTask();
        await stream.ReadExactlyAsync(received);
        await writing;
        Report.Require(sent.AsSpan().SequenceEqual(received), "bytes were changed");
        return $"{sent.Length:N0} bytes there and back, all equal";
    }
}
