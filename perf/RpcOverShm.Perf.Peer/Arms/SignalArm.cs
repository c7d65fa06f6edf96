using System.Runtime.InteropServices;

namespace RpcOverShm.Perf.Peer.Arms;

/// <summary>
/// A memory-mapped file, and a signal to the other side for each message, which .NET delivers on a thread of its own.
/// No program should do this; the arm shows the cost of the mechanism.
/// </summary>
internal sealed class SignalArm : IArm
{
    // SIGUSR1 on Linux, as a raw number: the runtime leaves it alone.
    private const PosixSignal UserSignal = (PosixSignal)10;
    private static readonly TimeSpan s_giveUpAfter = TimeSpan.FromSeconds(20);
    private static readonly List<PosixSignalRegistration> s_registrations = [];

    public string Name => "signal";

    public bool Supports(LoadShape shape, CallerKind caller) =>
        OperatingSystem.IsLinux() && shape == LoadShape.Echo && caller == CallerKind.Blocking;

    public Task<string> ServeAsync(string place)
    {
        var lines = new MappedLines(place, isClient: false) { OwnProcess = Environment.ProcessId };
        SemaphoreSlim told = Listen();
        new Thread(() => Serve(lines, told)) { IsBackground = true, Name = "signal server" }.Start();
        return Task.FromResult(place);
    }

    public IArmClient MakeClient(string place) => new Client(place);

    private static void Serve(MappedLines lines, SemaphoreSlim told)
    {
        while (true)
        {
            told.Wait();
            lines.Answer(lines.Other, carriesMessages: true);
            ProcessNative.SendSignal(lines.OtherProcess, (int)UserSignal);
        }
    }

    // The registration lives as long as the process.
    private static SemaphoreSlim Listen()
    {
        var told = new SemaphoreSlim(0);
        var registration = PosixSignalRegistration.Create(UserSignal, context =>
        {
            context.Cancel = true;
            told.Release();
        });
        s_registrations.Add(registration);
        return told;
    }

    private sealed class Client(string place) : IArmClient
    {
        public Task<IEcho> OpenEchoAsync(CallerKind caller)
        {
            var lines = new MappedLines(place, isClient: true) { OwnProcess = Environment.ProcessId };
            SemaphoreSlim told = Listen();
            return Task.FromResult<IEcho>(new MappedEcho(lines, carriesMessages: true, word =>
            {
                ProcessNative.SendSignal(lines.OtherProcess, (int)UserSignal);
                if (!told.Wait(s_giveUpAfter))
                {
                    throw new IOException("The peer does not answer.");
                }
            }));
        }
    }
}
