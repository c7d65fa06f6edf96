using System.IO.Pipes;

namespace RpcOverShm.Perf.Peer.Arms;

/// <summary>
/// A named pipe of .NET; with messages of raw bytes it is the baseline. On Linux it is a Unix domain socket underneath.
/// Its two forms need two names, because a pipe is opened for blocking or for awaiting.
/// </summary>
internal sealed class PipeArm(StreamCodec? codec = null) : ByteStreamArm("pipe", codec)
{
    public override Task<string> ServeAsync(string place)
    {
        // On Linux a name that is a path is the socket's file, in the directory of this run.
        string name = OperatingSystem.IsWindows() ? Path.GetFileName(place) + Guid.NewGuid() : place;
        foreach (CallerKind caller in Enum.GetValues<CallerKind>())
        {
            AcceptForever(() => AcceptAsync(name, caller));
        }

        return Task.FromResult(name);
    }

    public override async Task<Stream> ConnectAsync(string place, CallerKind caller)
    {
        var pipe = new NamedPipeClientStream(".", NameOf(place, caller), PipeDirection.InOut, OptionsOf(caller));
        await pipe.ConnectAsync(TimeSpan.FromSeconds(10), CancellationToken.None);
        return pipe;
    }

    private static async Task<Stream> AcceptAsync(string name, CallerKind caller)
    {
        var pipe = new NamedPipeServerStream(
            NameOf(name, caller),
            PipeDirection.InOut,
            NamedPipeServerStream.MaxAllowedServerInstances,
            PipeTransmissionMode.Byte,
            OptionsOf(caller));
        await pipe.WaitForConnectionAsync();
        return pipe;
    }

    private static string NameOf(string name, CallerKind caller) => $"{name}.{(int)caller}";

    private static PipeOptions OptionsOf(CallerKind caller) =>
        caller == CallerKind.Async ? PipeOptions.Asynchronous : PipeOptions.None;
}
