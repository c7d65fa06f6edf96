using Microsoft.Extensions.Logging;
using RpcOverShm.Connections;
using RpcOverShm.Links;
using RpcOverShm.Protocol;
using RpcOverShm.Rings;
using RpcOverShm.Systems;

namespace RpcOverShm.Tests.Connections;

/// <summary>
/// Frames that are illegal, or illegal in the current state. The connection closes and tells the peer, all waiting
/// callers fail, and the process goes on.
/// </summary>
public class ViolationTests
{
    private static readonly CallId s_living = new(0, 1, false);

    // Frames that a client must not send. Call 0.1 is running, 1.1 has ended, no other call was started.
    private static readonly Dictionary<string, (RawFrame Frame, string Text)> s_byClients = new()
    {
        ["kind 0"] = (new RawFrame(0, s_living), "unknown kind 0"),
        ["kind 22"] = (new RawFrame((FrameKind)22, s_living), "unknown kind 22"),
        ["topic start"] = (
            new RawFrame(FrameKind.TopicStart, s_living, Body: new byte[24]), "which only this side may send"),
        ["topic end"] = (
            new RawFrame(FrameKind.TopicEnd, s_living, Body: new byte[8]), "which only this side may send"),
        ["topic read, of no topic"] = (
            new RawFrame(FrameKind.TopicRead, s_living, Body: new byte[12]), "which only this side may send"),
        ["topic dropped"] = (
            new RawFrame(FrameKind.TopicDropped), "on a connection without topics"),
        ["topic mapped"] = (
            new RawFrame(FrameKind.FileMapped, Argument: 64), "on a connection without topics"),
        ["handles"] = (
            new RawFrame(FrameKind.Handles, s_living, Body: new byte[8]), "Handles on a connection without handles"),
        ["answer for a file"] = (new RawFrame(FrameKind.FileMapped), "FileMapped on a connection without loans"),
        ["a wish for pieces"] = (new RawFrame(FrameKind.ReturnsWanted), "ReturnsWanted on a connection without loans"),
        ["returned pieces"] = (new RawFrame(FrameKind.Returned, Body: [1]), "Returned on a connection without loans"),
        ["reference"] = (
            new RawFrame(FrameKind.Message, s_living, FrameFlags.Loaned, Body: new byte[16], Argument: 1),
            "a reference on a connection without loans"),
        ["unknown flag"] = (new RawFrame(FrameKind.Message, s_living, (FrameFlags)16), "flags 0x10"),
        ["start without call"] = (new RawFrame(FrameKind.CallStart), "for call 0"),
        ["go-away of a call"] = (new RawFrame(FrameKind.GoAway, s_living), "GoAway for call"),
        ["bytes"] = (new RawFrame(FrameKind.Bytes, Body: [1]), "Bytes on a connection for calls"),
        ["end of bytes"] = (new RawFrame(FrameKind.BytesEnd), "BytesEnd on a connection for calls"),
        ["start twice"] = (new RawFrame(FrameKind.CallStart, s_living), "twice"),
        ["start out of turn"] = (new RawFrame(FrameKind.CallStart, new CallId(2, 3, false)), "out of turn"),
        ["start beyond the limit"] = (
            new RawFrame(FrameKind.CallStart, new CallId(100, 1, false)), "accepts 100 concurrent calls"),
        ["start as acceptor"] = (new RawFrame(FrameKind.CallStart, new CallId(0, 1, true)), "not open"),
        ["unknown call"] = (new RawFrame(FrameKind.HalfClose, new CallId(7, 1, false)), "never started"),
        ["generation 0"] = (new RawFrame(FrameKind.HalfClose, new CallId(2)), "never started"),
        ["future generation"] = (new RawFrame(FrameKind.Cancel, new CallId(0, 2, false)), "never started"),
        ["past generation"] = (new RawFrame(FrameKind.Cancel, new CallId(1, 2, false)), "never started"),
        ["server's call"] = (new RawFrame(FrameKind.Message, new CallId(0, 1, true)), "not open"),
        ["headers"] = (new RawFrame(FrameKind.Headers, s_living), "only this side may send"),
        ["end"] = (new RawFrame(FrameKind.End, s_living), "only this side may send"),
        ["end in parts"] = (new RawFrame(FrameKind.End, s_living, FrameFlags.HeadContinues), ""),
        ["head chunk"] = (new RawFrame(FrameKind.HeadChunk, s_living), "that continues no head"),
        ["too much credit"] = (new RawFrame(FrameKind.Credit, s_living, Argument: uint.MaxValue), "bytes of credit"),
        ["head in a message"] = (new RawFrame(FrameKind.Message, s_living, 0, [1], [], 1), "a head of 1"),
        ["message beyond its length"] = (new RawFrame(FrameKind.Message, s_living, 0, null, [1, 2], 1), "payload of 2"),
        ["payload in a cancel"] = (new RawFrame(FrameKind.Cancel, s_living, 0, null, [1]), "payload of 1"),
        ["argument of a start"] = (
            new RawFrame(FrameKind.CallStart, new CallId(2, 1, false), Argument: 1), "argument of 1"),
    };

    // Frames that a server must not send to a client whose call 0.1 is running.
    private static readonly Dictionary<string, (RawFrame Frame, string Text)> s_byServers = new()
    {
        ["start of its own"] = (new RawFrame(FrameKind.CallStart, new CallId(0, 1, true)), "this side serves no calls"),
        ["frame of its own"] = (new RawFrame(FrameKind.Message, new CallId(0, 1, true)), "never started"),
        ["start"] = (new RawFrame(FrameKind.CallStart, s_living), "only this side may send"),
        ["half-close"] = (new RawFrame(FrameKind.HalfClose, s_living), "only this side may send"),
        ["last message"] = (
            new RawFrame(FrameKind.Message, s_living, FrameFlags.HalfClose, Body: [1], Argument: 1), "half-close"),
        ["last part"] = (
            new RawFrame(FrameKind.MessageChunk, s_living, FrameFlags.HalfClose, Body: [1]), "half-close"),
        ["cancel"] = (new RawFrame(FrameKind.Cancel, s_living), "only this side may send"),
        ["call that was never started"] = (new RawFrame(FrameKind.End, new CallId(1, 1, false)), "not open"),
        ["another generation"] = (new RawFrame(FrameKind.End, new CallId(0, 2, false)), "not open"),
        ["beyond the table"] = (new RawFrame(FrameKind.End, new CallId(65535, 1, false)), "not open"),
        ["head chunk"] = (new RawFrame(FrameKind.HeadChunk, s_living), "that continues no head"),
    };

    // The reader finds such a call while another thread abandons it: the slot is freed once.
    [Test]
    public async Task Frame_OfACallThatWasNotSent_ClosesTheConnection(
        [Values] bool isWithdrawn)
    {
        using var rig = new CallingRig();
        var call = new RecordingCall();
        rig.Connection.StartCall(call, FrameFlags.None, default, default);
        call.Sending.Phase = isWithdrawn ? CallSendPhase.Withdrawn : CallSendPhase.New;

        rig.Peer.Send(new RawFrame(FrameKind.End, call.Id));

        await AssertClosedAsync(rig.Connection, rig.Links.Wires.ServerWire, rig.Links.Logger, "not sent yet");
        Assert.That(call.Events, Is.EqualTo((string[])["closed: PeerViolation"]));
    }

    private static IEnumerable<string> ByClients => s_byClients.Keys;

    private static IEnumerable<string> ByServers => s_byServers.Keys;

    [TestCaseSource(nameof(ByClients))]
    public async Task Frame_ThatAClientMayNotSend_ClosesTheConnection(string name)
    {
        using var rig = new ServingRig();
        RecordingCall living = rig.Start(slot: 0);
        RecordingCall ended = rig.Start(slot: 1);
        rig.Connection.Sender.Send(ended, FrameKind.End, FrameFlags.None, default, default);

        rig.Peer.Send(s_byClients[name].Frame);
        if (name == "end in parts")
        {
            rig.Peer.Send(new RawFrame(FrameKind.HeadChunk, s_living));
        }

        await AssertClosedAsync(rig.Connection, rig.Links.Wires.ClientWire, rig.Links.Logger, s_byClients[name].Text);
        Assert.That(living.Events[^1], Is.EqualTo("closed: PeerViolation"));
        Assert.That(living.Events.Count(what => what.StartsWith("closed", StringComparison.Ordinal)), Is.EqualTo(1));
    }

    [TestCaseSource(nameof(ByServers))]
    public async Task Frame_ThatAServerMayNotSend_ClosesTheConnection(string name)
    {
        using var rig = new CallingRig();
        RecordingCall call = rig.Start();

        rig.Peer.Send(s_byServers[name].Frame);

        await AssertClosedAsync(rig.Connection, rig.Links.Wires.ServerWire, rig.Links.Logger, s_byServers[name].Text);
        Assert.That(call.Events, Is.EqualTo((string[])["closed: PeerViolation"]));
    }

    [Test]
    public async Task End_OfACallThatHasEnded_ClosesTheConnection()
    {
        using var rig = new CallingRig();
        RecordingCall call = rig.Start();
        rig.Peer.Send(new RawFrame(FrameKind.End, call.Id));
        rig.Peer.Send(new RawFrame(FrameKind.End, call.Id));

        await AssertClosedAsync(rig.Connection, rig.Links.Wires.ServerWire, rig.Links.Logger, "not open");
        Assert.That(call.Events, Is.EqualTo((string[])["end None: 0, 0"]));
    }

    [TestCase(8L)]
    [TestCase(-16L)]
    [TestCase(long.MaxValue)]
    [TestCase((64L << 10) + 16)]
    public async Task Tail_ThatIsImpossible_ClosesTheConnection(long tail)
    {
        using var rig = new ServingRig();
        RecordingCall call = rig.Start();
        long position = SharedMemoryOrder.ReadAcquire(ref rig.Links.ClientSegment.Own.Tail);

        SharedMemoryOrder.WriteFenced(
            ref rig.Links.ClientSegment.Own.Tail, tail < 0 ? tail : unchecked(position + tail));
        rig.Links.Client.WakePeerForData(WakeMethods.Futex | WakeMethods.Doorbell);

        await AssertClosedAsync(rig.Connection, rig.Links.Wires.ClientWire, rig.Links.Logger, "corrupted");
        Assert.That(call.CloseReason!.Exception, Is.TypeOf<RingCorruptedException>());
    }

    [Test]
    public async Task Record_WithAnImpossibleLength_ClosesTheConnection()
    {
        using var rig = new ServingRig();
        rig.Start();

        rig.Peer.SendRecord(new RecordHeader(5000, (byte)FrameKind.HalfClose, 0, 0, s_living.Value, 0), []);

        await AssertClosedAsync(rig.Connection, rig.Links.Wires.ClientWire, rig.Links.Logger, "corrupted");
    }

    [Test]
    public async Task Call_ThatThrowsAtAnEvent_ClosesTheConnectionAsThisSidesOwnFault()
    {
        using var rig = new ServingRig
        {
            OnEvent = (_, what) =>
            {
                if (what.StartsWith("start", StringComparison.Ordinal))
                {
                    throw new InvalidOperationException("a defect");
                }
            },
        };
        rig.Peer.Send(new RawFrame(FrameKind.CallStart, s_living));

        await rig.Connection.Closed.Bounded();

        Assert.That(rig.Connection.CloseReason!.Kind, Is.EqualTo(CloseKind.InternalError));
        Assert.That(rig.Connection.CloseReason.Text, Is.EqualTo("a defect"));
    }

    private static async Task AssertClosedAsync(
        Connection connection, Wire peersWire, LogGuard logger, string text)
    {
        await connection.Closed.Bounded();
        Assert.That(connection.CloseReason!.Kind, Is.EqualTo(CloseKind.PeerViolation), connection.CloseReason.Text);
        Assert.That(connection.CloseReason.Text, Does.Contain(text));
        using Handshake.ReceivedHello? said =
            await Handshake.ReceiveAsync(peersWire, CancellationToken.None).Bounded();
        Assert.That(said!.Hello.RefusalReason, Is.EqualTo(RefusalReason.Violation));
        Assert.That(said.Hello.RefusalText, Is.EqualTo(connection.CloseReason.Text));
        await Timeouts.Eventually(() => logger.Entries.Any(message => message.Level == LogLevel.Error));
        Assert.That(logger.Entries.Where(message => message.Level == LogLevel.Error), Has.One.Items);
    }
}
