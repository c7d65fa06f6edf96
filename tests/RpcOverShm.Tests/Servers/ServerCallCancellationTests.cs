using RpcOverShm.Servers;

namespace RpcOverShm.Tests.Servers;

/// <summary>A method's token fires whichever comes first: its first use or the end of its call.</summary>
internal sealed class ServerCallCancellationTests
{
    private CancellationTokenSource? _token;

    [Test]
    public void Token_AskedForAfterTheEnd_HasFired()
    {
        ServerCallCancellation.Fire(ref _token);

        Assert.That(ServerCallCancellation.Get(ref _token).IsCancellationRequested);
    }

    [Test]
    public async Task Token_AskedForWhileTheCallEnds_FiresInEveryOrder()
    {
        var tokens = new List<CancellationToken>();
        var race = new TwoThreadRace(20_000)
        {
            Prepare = () => _token = null,
            Left = () =>
            {
                ServerCallCancellation.Fire(ref _token);
                return true;
            },
            Right = () =>
            {
                tokens.Add(ServerCallCancellation.Get(ref _token));
                return true;
            },
        };

        race.Run();

        await Timeouts.Eventually(() => tokens.TrueForAll(token => token.IsCancellationRequested));
    }
}
