using System.IO.Pipes;

namespace RpcOverShm.Samples;

/// <summary>Sends the same bytes to the server and back through named pipes, for comparison.</summary>
internal sealed class PipeCalls : IDisposable
{
    private readonly byte[] _sent = new byte[RawCalls.SmallBytes];
    private readonly byte[] _received = new byte[RawCalls.SmallBytes];
    private readonly NamedPipeClientStream _blocking;
    private readonly NamedPipeClientStream _awaited;

    public PipeCalls(string name)
    {
        _blocking = new NamedPipeClientStream(".", name, PipeDirection.InOut, PipeOptions.CurrentUserOnly);
        _awaited = new NamedPipeClientStream(
            ".",
            PipeEcho.AwaitedName(name),
            PipeDirection.InOut,
            PipeOptions.CurrentUserOnly | PipeOptions.Asynchronous);
    }

    public async Task ShowAsync(Report report)
    {
        await _blocking.ConnectAsync();
        await _awaited.ConnectAsync();
        await report.ShowUnaryAsync("pipe", "blocking, 100 B", () => Task.FromResult(Echo()), Describe);
        await report.ShowUnaryAsync("pipe", "async, 100 B", EchoAsync, Describe);
    }

    public void Dispose()
    {
        _blocking.Dispose();
        _awaited.Dispose();
    }

    private static string Describe(int length) => $"{length} bytes";

    private int Echo()
    {
        _blocking.Write(_sent);
        _blocking.ReadExactly(_received);
        return _received.Length;
    }

    private async Task<int> EchoAsync()
    {
        await _awaited.WriteAsync(_sent);
        await _awaited.ReadExactlyAsync(_received);
        return _received.Length;
    }
}
