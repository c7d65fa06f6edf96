using System.Text;
using Grpc.Core;
using RpcOverShm.Buffers;
using RpcOverShm.Clients;
using RpcOverShm.Connections;
using RpcOverShm.Protocol;
using RpcOverShm.Scheduling;
using RpcOverShm.Tests.Connections;

namespace RpcOverShm.Tests.Clients;

/// <summary>Calls that find every connection closed for new calls before its close.</summary>
internal sealed class CallStarterTests
{
    private readonly CallingRig _rig = new();

    [TearDown]
    public void Dispose() => _rig.Dispose();

    [Test]
    public async Task Call_OnRetiredConnections_FailsWithTheReason_AfterThreeAttempts(
        [Values] bool isBlocking, [Values] bool isPeerLeaving)
    {
        if (isPeerLeaving)
        {
            _rig.Peer.Send(new RawFrame(FrameKind.GoAway, CallId.None));
            await Timeouts.Eventually(() => !_rig.Connection.IsOpenForCalls);
        }

        _rig.Connection.Sender.Retire();
        var connections = new OneConnection(_rig.Connection);
        using var log = new LogGuard();
        var starter = new CallStarter(connections, LooseMethod.SettingsWith(log));
        var call = new SingleResponseCall<string>(new LooseMethod(log), isBlocking ? new AutoResetLatch() : null);
        var inputs = RequestHeadInputs.Of(Encoding.UTF8.GetBytes("/loose/method"), host: null, new CallOptions());
        using var request = new PooledBufferWriter();

        if (isBlocking)
        {
            starter.Run(call, inputs, null, request);
        }
        else
        {
            await starter.StartAsync(call, inputs, request).Bounded();
        }

        string reason = isPeerLeaving ? "accepts no more calls" : "had no call for its IdleTimeout";
        Assert.That(call.Status.StatusCode, Is.EqualTo(StatusCode.Unavailable));
        Assert.That(call.Status.Detail, Does.Contain(reason));
        Assert.That(connections.Found, Is.EqualTo(3));
    }

    private sealed class OneConnection(Connection connection) : ConnectionProvider
    {
        public int Found { get; private set; }

        public override CancellationToken ShutdownToken => CancellationToken.None;

        public override ValueTask<Connection> GetAsync(bool isWaitForReady, bool isOneWay = false)
        {
            Found++;
            return new ValueTask<Connection>(connection);
        }

        public override void ThrowIfShutDown()
        {
        }
    }
}
