using RpcOverShm.Links;

namespace RpcOverShm.Perf.Peer.Arms;

/// <summary>
/// What the arms share whose two sides look at words of a mapped file without pause. A ring of the product introduces
/// them, and wakes a server that nobody has asked anything for a while.
/// </summary>
internal abstract class SpinningArm : IArm
{
    private static readonly long s_parkAfterTicks = Stopwatch.Frequency * 2 / 1000;
    private static readonly long s_kickAfterTicks = Stopwatch.Frequency / 20_000;
    private static readonly long s_giveUpAfterTicks = Stopwatch.Frequency * 20;

    public abstract string Name { get; }

    public bool Supports(LoadShape shape, CallerKind caller) =>
        shape == LoadShape.Echo && caller == CallerKind.Blocking;

    public Task<string> ServeAsync(string place)
    {
        string address = "shm://" + place;
        int clients = 0;
        _ = Listener.Start(RendezvousAddress.Parse(address, null), Settings(), link =>
        {
            link.Start(static () => { });
            string path = $"{place}.{Interlocked.Increment(ref clients)}.mapped";
            new Thread(() => Serve(new RingMessages(link), path)) { IsBackground = true, Name = Name }.Start();
        });
        return Task.FromResult(address);
    }

    public IArmClient MakeClient(string place) => new Client(this, RendezvousAddress.Parse(place, null));

    /// <summary>Answers the request whose word has come.</summary>
    protected abstract void Answer(MappedLines lines, long word);

    /// <summary>Makes the client's side; to call is to write the own word and to wait.</summary>
    protected abstract IEcho MakeEcho(MappedLines lines, Action<long> awaitWord);

    private static ConnectionSettings Settings() => OptionChecks.Stream<SpinningArm>(new ShmStreamOptions());

    private void Serve(RingMessages ring, string path)
    {
        var lines = new MappedLines(path, isClient: false);
        ring.Send(System.Text.Encoding.UTF8.GetBytes(path));
        long last = 0;
        while (ring.TryReceive(out _))
        {
            var spin = new RingSpin();
            while (spin.ElapsedTicks < s_parkAfterTicks)
            {
                long word = lines.Other;
                if (word != last)
                {
                    last = word;
                    Answer(lines, word);
                    spin = new RingSpin();
                }
                else
                {
                    spin.Pause();
                }
            }
        }
    }

    private static void AwaitWord(MappedLines lines, long word, RingMessages ring)
    {
        var spin = new RingSpin();
        bool isKicked = false;
        while (lines.Other != word)
        {
            if (!spin.Pause())
            {
                continue;
            }

            if (!isKicked && spin.ElapsedTicks > s_kickAfterTicks)
            {
                isKicked = true;
                ring.Send([0]);
            }
            else if (spin.ElapsedTicks > s_giveUpAfterTicks)
            {
                throw new IOException("The peer does not answer.");
            }
        }
    }

    private sealed class Client(SpinningArm arm, RendezvousAddress address) : IArmClient
    {
        public async Task<IEcho> OpenEchoAsync(CallerKind caller)
        {
            PeerLink link = await ClientHandshake.ConnectAsync(address, Settings(), CancellationToken.None);
            link.Start(static () => { });
            return Open(new RingMessages(link));
        }

        private IEcho Open(RingMessages ring)
        {
            ring.Receive();
            var lines = new MappedLines(System.Text.Encoding.UTF8.GetString(ring.Received), isClient: true);
            return arm.MakeEcho(lines, word => AwaitWord(lines, word, ring));
        }
    }
}
