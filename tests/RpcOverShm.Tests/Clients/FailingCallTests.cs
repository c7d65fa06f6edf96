using Grpc.Core;
using RpcOverShm.Buffers;
using RpcOverShm.Clients;
using RpcOverShm.Connections;
using RpcOverShm.Protocol;
using RpcOverShm.Scheduling;
using RpcOverShm.Tests.Connections;

namespace RpcOverShm.Tests.Clients;

/// <summary>A blocking call that throws when it handles its end, as it does when memory is short.</summary>
internal sealed class FailingCallTests
{
    // The first failure is at the server's End, the second at the close.
    [TestCase(1, "Planned.")]
    [TestCase(2, "The connection is closed. This process could not tell the call why; its log has event 104.")]
    public void Call_ThatThrowsAtItsEnd_EndsWithItsConnection(int failures, string detail)
    {
        using var rig = new CallingRig();
        var call = new FailingCall(failures);
        Assert.That(call.TryArm(default) && call.TryAttach(rig.Connection));
        TestThread caller = TestThread.Start(
            "caller", () => rig.Connection.RunCall(call, FrameFlags.HalfClose, "head"u8, default, null));
        RawFrame start = rig.Peer.Receive();

        rig.Peer.Send(new RawFrame(FrameKind.End, start.Call));
        caller.Join();

        Assert.That(call.End, Is.EqualTo(new Status(StatusCode.Internal, detail)).Using<Status>(
            (left, right) => left.StatusCode == right.StatusCode && left.Detail == right.Detail));
    }

    private sealed class FailingCall : ClientCall
    {
        private int _failures;

        public FailingCall(int failures)
        {
            _failures = failures;
            Latch = new AutoResetLatch();
        }

        public override string MethodName => "failing";

        public Status End => (IsFinished ? Outcome : ServerOutcome!).Status;

        protected override ClientSettings Settings { get; } = LooseMethod.SettingsWith(new LogGuard());

        public override void OnMessage(uint wholeLength, ReadOnlySpan<byte> bytes, FrameFlags flags)
        {
        }

        public override void OnLoanedMessage(ReceivedMessage message, int recordBytes, FrameFlags flags) =>
            message.Release();

        public override void OnMessageChunk(ReadOnlySpan<byte> bytes, FrameFlags flags)
        {
        }

        protected override void Start(object snapshot)
        {
        }

        protected override void Execute(PendingUserCode userCode)
        {
        }

        protected override bool EndsAtOnce(CallOutcome end) => false;

        protected override void OnEnded(ReadOnlySpan<byte> message, bool hasMessage)
        {
            if (_failures-- > 0)
            {
                throw new InvalidOperationException("Planned.");
            }

            EndWait();
        }
    }
}
