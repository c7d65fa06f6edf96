namespace RpcOverShm.Samples;

/// <summary>Sends bytes in both directions through a stream instead of calls, as through a named pipe.</summary>
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

        // Writes and reads concurrently: a write waits while the rings are full of bytes that nobody has read.
        Task writing = stream.WriteAsync(sent).AsTask();
        await stream.ReadExactlyAsync(received);
        await writing;
        Report.Require(sent.AsSpan().SequenceEqual(received), "bytes were changed");
        return $"{sent.Length:N0} bytes there and back, all equal";
    }
}
