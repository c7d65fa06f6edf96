using RpcOverShm.Protocol;

namespace RpcOverShm.FunctionalTests.Hostile;

/// <summary>
/// A client that goes on writing after its end, as a child of a dead client could: what it had published by then is
/// served, and nothing after that.
/// </summary>
internal sealed class PeerPastItsEndTests : VictimFixture
{
    private const int Slots = 50;
    private const int Generations = 32767;
    private const string Again = "again";

    private readonly Lock _gate = new();
    private RawPeer? _peer;
    private int _served;

    [Test]
    public async Task Calls_ThatNeverCeaseAfterTheEnd_EndWithTheConnection(
        [Values(ShmSchedulingMode.Inline, ShmSchedulingMode.ThreadPool)] ShmSchedulingMode mode)
    {
        Victim victim = await StartVictimAsync(
            script => script.Unary = (request, _) =>
            {
                if (request.Text() == Again)
                {
                    CallAgain();
                }

                return Task.FromResult(request);
            },
            RigOptions.AnySize with { RingCapacity = 64 << 10, Scheduling = mode });
        using RawPeer peer = await RawPeer.ConnectAsync(victim.Place);
        try
        {
            _peer = peer;

            // The method of each call publishes the next call, so the ring is never empty after an inline method.
            CallAgain();
            await Timeouts.Eventually(() => Volatile.Read(ref _served) > 100);
            peer.EndWire();

            await victim.AssertUnharmedAndRidOfAsync();
        }
        finally
        {
            lock (_gate)
            {
                _peer = null;
            }
        }
    }

    private void CallAgain()
    {
        lock (_gate)
        {
            if (_peer is null)
            {
                return;
            }

            while (_peer.TryReceive(out _))
            {
                // Answers that stay in the ring would stop the server.
            }

            int number = _served++;
            var call = new CallId(number % Slots, (uint)(number / Slots % Generations) + 1, isFromAcceptor: false);
            _peer.TrySend(RawFrames.WholeCall(call, RawFrames.UnaryHead, RawFrames.Message(Again)));
        }
    }
}
