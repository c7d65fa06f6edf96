using System.Runtime.InteropServices;

namespace RpcOverShm.Perf.Peer.Arms;

/// <summary>
/// A memory-mapped file whose other side is told by a signal that there is something, as .NET delivers signals: on a
/// thread of its own. Nobody should; it shows what the mechanism costs.
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
        var lines = new MappedLines(place, isClient: false);
        lines.OwnProcess = Environment.ProcessId;
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
            ReadOnlySpan<byte> request = lines.Get();
            ServedTally.CountRequest(request);
            lines.Put(request);
            lines.Own = lines.Other;
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
            var lines = new MappedLines(place, isClient: true);
            lines.OwnProcess = Environment.ProcessId;
            return Task.FromResult<IEcho>(new Echo(lines, Listen()));
        }
    }

    private sealed class Echo(MappedLines lines, SemaphoreSlim told) : IEcho
    {
        private byte[] _request = [];
        private byte[] _reply = [];
        private long _word;

        public ReadOnlySpan<byte> Reply => lines.Other == _word ? _reply : [];

        public Memory<byte> Prepare(ExchangeSize size)
        {
            if (_request.Length != size.RequestBytes)
            {
                _request = new byte[size.RequestBytes];
                _reply = new byte[size.ReplyExpected];
            }

            return _request;
        }

        public void Call()
        {
            lines.Put(_request);
            lines.Own = ++_word;
            ProcessNative.SendSignal(lines.OtherProcess, (int)UserSignal);
            if (!told.Wait(s_giveUpAfter))
            {
                throw new IOException("The peer does not answer.");
            }

            lines.Get().CopyTo(_reply);
        }

        public ValueTask CallAsync() => throw new NotSupportedException();
    }
}
