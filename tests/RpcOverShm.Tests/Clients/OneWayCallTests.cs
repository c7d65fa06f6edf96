using Grpc.Core;
using RpcOverShm.Clients;
using RpcOverShm.Connections;
using RpcOverShm.Links;
using RpcOverShm.Protocol;
using RpcOverShm.Scheduling;
using RpcOverShm.Tests.Connections;
using static RpcOverShm.Tests.Clients.HandServedCalls;

namespace RpcOverShm.Tests.Clients;

/// <summary>A one-way call between its last record, what may end it, and its End.</summary>
internal sealed class OneWayCallTests
{
    private static readonly Dictionary<string, Action<ClientCall>> s_rivals = new()
    {
        ["deadline"] = call => call.OnDeadline(),
        ["token"] = call => call.Cancel(new CancellationToken(canceled: true)),
        ["dispose"] = call => call.Dispose(),
        ["close"] = call => call.OnConnectionClosed(new CloseReason(CloseKind.PeerLost, "lost")),
    };

    private readonly CallingRig _rig = new();
    private readonly CancellationTokenSource _cancel = new();
    private readonly List<Status> _failures = [];

    [TearDown]
    public void Dispose()
    {
        _rig.Dispose();
        _cancel.Dispose();
    }

    // The event loop has written it, or its starter has: the thread that completes the call comes later.
    [Test]
    public void Call_ThatIsInTheRing_HasSucceededWhateverComesThen(
        [Values] bool isBlocking,
        [Values] bool isSentLater,
        [Values("deadline", "token", "dispose", "close")] string rival)
    {
        SingleResponseCall<string> call = Start(isBlocking);
        if (isSentLater)
        {
            call.OnOneWaySent();
        }

        s_rivals[rival](call);
        call.EndAsSent();

        Assert.That(call.Status, Is.EqualTo(Status.DefaultSuccess));
        Assert.That(isBlocking ? call.TakeResponse() : call.ResponseAsync.Bounded().Result, Is.Empty);
    }

    [Test]
    public void Failure_ThatComesBeforeItsStarterGoesOn_IsNotReportedOnTheStartersThread([Values] bool isBlocking)
    {
        SingleResponseCall<string> call = Start(isBlocking);
        call.EndByServer(Planned);

        call.EndAsSent();
        string response = isBlocking ? call.TakeResponse() : call.ResponseAsync.Bounded().Result;
        int before = _failures.Count;
        call.RunUserCode(); // by the thread that has read the End

        Assert.That((response, before), Is.EqualTo(("", 0)));
        Assert.That(_failures, Is.EqualTo(new[] { Planned }));
    }

    [Test]
    public void GivenUpCall_IsNotWritten()
    {
        SingleResponseCall<string> call = New(isBlocking: false);
        Assert.That(call.TryArm(new CallOptions(cancellationToken: _cancel.Token)) && call.TryAttach(_rig.Connection));
        call.Cancel(CancellationToken.None);

        StartResult result = _rig.Connection.StartOneWay(call, FrameFlags.OneWay, "head"u8, default);

        Assert.That((result, _rig.Connection.OutgoingOneWayCount), Is.EqualTo((StartResult.Abandoned, 0)));
        Assert.That(OutboundQueue.IsSendingOver(call), Is.True);
    }

    [Test]
    public async Task Deadline_AfterTheConnectionHasClosed_DoesNotBlameItsServer()
    {
        SingleResponseCall<string> call = New(isBlocking: false);
        Assert.That(call.TryArm(new CallOptions(cancellationToken: _cancel.Token)) && call.TryAttach(_rig.Connection));
        _rig.Connection.Close(new CloseReason(CloseKind.Local, "closed"));
        await _rig.Connection.Closed.Bounded();

        call.OnDeadline();

        Assert.That((call.Status.StatusCode, call.Status.Detail), Is.EqualTo((StatusCode.DeadlineExceeded, "")));
    }

    private SingleResponseCall<string> Start(bool isBlocking)
    {
        const FrameFlags Whole = FrameFlags.OneWay | FrameFlags.HasMessage | FrameFlags.HalfClose;
        SingleResponseCall<string> call = New(isBlocking);
        Assert.That(call.TryArm(new CallOptions(cancellationToken: _cancel.Token)) && call.TryAttach(_rig.Connection));
        Assert.That(
            _rig.Connection.StartOneWay(call, Whole, "head"u8, "request"u8), Is.EqualTo(StartResult.Started));
        Assert.That(_rig.Peer.Receive().Call, Is.EqualTo(call.Id));
        return call;
    }

    private SingleResponseCall<string> New(bool isBlocking) =>
        new(new LooseMethod(), isBlocking ? new AutoResetLatch() : null)
        {
            IsOneWay = true,
            OnFailed = (_, status) => _failures.Add(status),
        };
}
