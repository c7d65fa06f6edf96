namespace RpcOverShm.Perf.Peer.Arms;

/// <summary>
/// A memory-mapped file, and in it a semaphore of the C library for each side, on which it blocks until the other has
/// written a message: shared memory with an event, as programs without a library do it.
/// </summary>
internal sealed class SemaphoreArm : IArm
{
    public string Name => "mmap-event";

    public bool Supports(LoadShape shape, CallerKind caller) =>
        OperatingSystem.IsLinux() && shape == LoadShape.Echo && caller == CallerKind.Blocking;

    public Task<string> ServeAsync(string place)
    {
        var lines = new MappedLines(place, isClient: false);
        lines.MakeEvents();
        new Thread(() => Serve(lines)) { IsBackground = true, Name = "event server" }.Start();
        return Task.FromResult(place);
    }

    public IArmClient MakeClient(string place) => new Client(place);

    private static void Serve(MappedLines lines)
    {
        while (true)
        {
            lines.AwaitEvent();
            lines.Answer(lines.Other, carriesMessages: true);
            lines.SetEvent();
        }
    }

    private sealed class Client(string place) : IArmClient
    {
        public Task<IEcho> OpenEchoAsync(CallerKind caller)
        {
            var lines = new MappedLines(place, isClient: true);
            return Task.FromResult<IEcho>(new MappedEcho(lines, carriesMessages: true, word =>
            {
                lines.SetEvent();
                lines.AwaitEvent();
            }));
        }
    }
}
