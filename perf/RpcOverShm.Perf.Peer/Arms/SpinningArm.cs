using System.Text;

namespace RpcOverShm.Perf.Peer.Arms;

/// <summary>
/// A memory-mapped file with one guard word each way, which both sides check without pause, as in hand-written code.
/// Messages are copied in and out; or no message is carried at all, and the words alone are the floor of every round
/// trip between two processors. A ring of the product introduces the two sides, and wakes an idle server.
/// </summary>
internal sealed class SpinningArm(string name, bool carriesMessages) : IArm
{
    private static readonly long s_parkAfterTicks = Stopwatch.Frequency * 2 / 1000;
    private static readonly long s_kickAfterTicks = Stopwatch.Frequency / 20_000;
    private static readonly long s_giveUpAfterTicks = Stopwatch.Frequency * 20;

    private int _clients;

    public string Name => name;

    public bool Supports(LoadShape shape, CallerKind caller) =>
        shape == LoadShape.Echo && caller == CallerKind.Blocking;

    public Task<string> ServeAsync(string place) => Task.FromResult(RingMessages.Listen(
        place, name, ring => Serve(ring, $"{place}.{Interlocked.Increment(ref _clients)}.mapped")));

    public IArmClient MakeClient(string place) => new Client(place, carriesMessages);

    private void Serve(RingMessages ring, string path)
    {
        var lines = new MappedLines(path, isClient: false);
        ring.Send(Encoding.UTF8.GetBytes(path));
        long last = 0;
        while (ring.TryReceive())
        {
            var spin = new RingSpin();
            while (spin.ElapsedTicks < s_parkAfterTicks)
            {
                long word = lines.Other;
                if (word != last)
                {
                    last = word;
                    lines.Answer(word, carriesMessages);
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

    private sealed class Client(string place, bool carriesMessages) : IArmClient
    {
        public async Task<IEcho> OpenEchoAsync(CallerKind caller)
        {
            RingMessages ring = await RingMessages.ConnectAsync(place);
            ring.Receive();
            var lines = new MappedLines(Encoding.UTF8.GetString(ring.Received), isClient: true);
            return new MappedEcho(lines, carriesMessages, word => AwaitWord(lines, word, ring));
        }
    }
}
