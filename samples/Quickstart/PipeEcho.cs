using System.IO.Pipes;

namespace RpcOverShm.Samples;

/// <summary>The server's side of <see cref="PipeCalls"/>: sends back what it reads, blocking and awaited.</summary>
internal static class PipeEcho
{
    public static string AwaitedName(string name) => name + "-awaited";

    /// <summary>Starts to wait for one client of each kind; ends with the client or the process.</summary>
    public static void Start(string name)
    {
        var blocking = new NamedPipeServerStream(
            name, PipeDirection.InOut, 1, PipeTransmissionMode.Byte, PipeOptions.CurrentUserOnly);
        var awaited = new NamedPipeServerStream(
            AwaitedName(name),
            PipeDirection.InOut,
            1,
            PipeTransmissionMode.Byte,
            PipeOptions.CurrentUserOnly | PipeOptions.Asynchronous);
        new Thread(() => Echo(blocking)) { IsBackground = true }.Start();
        _ = EchoAsync(awaited);
    }

    private static void Echo(NamedPipeServerStream pipe)
    {
        using (pipe)
        {
            pipe.WaitForConnection();
            pipe.CopyTo(pipe);
        }
    }

    private static async Task EchoAsync(NamedPipeServerStream pipe)
    {
        await using (pipe)
        {
            await pipe.WaitForConnectionAsync();
            await pipe.CopyToAsync(pipe);
        }
    }
}
