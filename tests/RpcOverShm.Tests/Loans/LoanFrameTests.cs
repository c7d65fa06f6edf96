using Microsoft.Win32.SafeHandles;
using RpcOverShm.Buffers;
using RpcOverShm.Connections;
using RpcOverShm.Diagnostics;
using RpcOverShm.Links;
using RpcOverShm.Loans;
using RpcOverShm.Protocol;
using RpcOverShm.Scheduling;
using RpcOverShm.Tests.Connections;

namespace RpcOverShm.Tests.Loans;

/// <summary>
/// References on the ring, and their returns: a connection that makes calls, and a server driven by hand. File 0 of
/// each side has 1 MiB.
/// </summary>
[LinuxOnly("Windows passes no memory after the handshake, so nothing is lent there.")]
internal sealed class LoanFrameTests
{
    private const int MiB = 1 << 20;

    private readonly LoanLinks _links = new(limit: MiB);
    private Connection _connection = null!;
    private RawPeer _peer = null!;

    [SetUp]
    public void Open()
    {
        _peer = new RawPeer(_links.Server);
        _connection = new Connection(_links.Client, SchedulingMode.Adaptive, accept: null, onGoAway: null);
        _connection.Start();
    }

    private LinkLoans Loans => _connection.Loans!;

    [TearDown]
    public void Close()
    {
        _connection.Close(new CloseReason(CloseKind.Local, "The test is over."));
        Assert.That(_connection.Closed.Wait(Timeouts.Wait), "The connection ends.");
        _peer.Dispose();
        _links.Dispose();
    }

    [Test]
    public void Message_ThatEndsWithAPiece_IsOneRecordWithAReference([Values(0, 1008)] int before)
    {
        LentPiece piece = RentMapped();
        RecordingCall call = Start();
        using PooledBufferWriter message = MessageOf(piece, before);

        _connection.Sender.SendMessage(call, FrameFlags.Single | FrameFlags.HalfClose, message);
        RawFrame frame = _peer.Receive();
        piece.Dispose();
        long lent = Loans.Lent.LentBytes;
        _peer.Send(new RawFrame(FrameKind.Returned, Body: [0, 0, 0, 0, 0, 0, 0, 0]));

        const FrameFlags All = FrameFlags.Single | FrameFlags.HalfClose | FrameFlags.Loaned;
        Assert.That((frame.Kind, frame.Flags, frame.Call), Is.EqualTo((FrameKind.Message, All, call.Id)));
        Assert.That(frame.Argument, Is.EqualTo(MiB + before));
        Assert.That(LoanReference.Decode(frame.Body), Is.EqualTo(new LoanReference(0, 0, MiB)));
        SameBytes.Assert(frame.Body[LoanReference.SizeBytes..], BytePattern.Of(before));
        Assert.That(lent, Is.EqualTo(MiB));
        Assert.That(() => Loans.Lent.TakenBytes, Is.Zero.After(20_000, 2));
    }

    [Test]
    public void Message_WithTooManyBytesBeforeThePiece_IsCopied()
    {
        using LentPiece piece = RentMapped();
        RecordingCall call = Start();
        using PooledBufferWriter message = MessageOf(piece, 1009);

        _connection.Sender.SendMessage(call, FrameFlags.Single | FrameFlags.HalfClose, message);
        RawFrame frame = _peer.Receive();

        Assert.That(frame.Flags & FrameFlags.Loaned, Is.EqualTo(FrameFlags.None));
        Assert.That(frame.Argument, Is.EqualTo(MiB + 1009));
        Assert.That(Loans.Lent.LentBytes, Is.Zero);
    }

    [Test]
    public void Message_ThatWaitsForCreditAndIsDropped_IsNotLent()
    {
        long before = ProcessCounts.LentPayloads.Value;
        LentPiece piece = RentMapped();
        RecordingCall call = Start();
        var sent = new List<Task<bool>>();
        for (int i = 0; i < 3000; i++)
        {
            using PooledBufferWriter message = MessageOf(piece, before: 0);
            sent.Add(_connection.Sender.SendMessageAsync(call, FrameFlags.None, message));
        }

        piece.Dispose();
        _connection.Sender.Drop(call);

        int written = sent.Count(task => task is { IsCompleted: true, Result: true });
        Assert.That(written, Is.InRange(1000, (64 << 10) / 32), "Ring and credit have room for some, not for all.");
        Assert.That(Loans.Lent.LentBytes, Is.EqualTo(MiB));
        Assert.That(ProcessCounts.LentPayloads.Value - before, Is.EqualTo(written), "Others were not sent.");
        for (int i = 0; i < written; i++)
        {
            RawFrame frame = _peer.Receive();
            Assert.That(frame.Flags, Is.EqualTo(FrameFlags.Loaned));
        }

        // Longer than any that this side would send.
        _peer.Send(new RawFrame(FrameKind.Returned, Body: new byte[written * ReturnedPiece.SizeBytes]));
        Assert.That(() => Loans.Lent.TakenBytes, Is.Zero.After(20_000, 2));
    }

    [Test]
    public void Reference_OfTheServer_ReachesTheCallAndIsReturned()
    {
        PassFile();
        RecordingCall call = Start();

        _peer.Send(Refer(call.Id, new LoanReference(0, 2, 100_000), before: [1, 2, 3]));
        RawFrame returned = _peer.Receive();

        Assert.That(call.Events, Is.EqualTo(new[] { "loaned Loaned: 100003 in 19" }));
        Assert.That(call.ReceivedMessage, Has.Count.EqualTo(100_003));
        Assert.That(call.ReceivedMessage[..4], Is.EqualTo(new byte[] { 1, 2, 3, 0 }));
        Assert.That(returned.Kind, Is.EqualTo(FrameKind.Returned));
        Assert.That(ReturnedPiece.Decode(returned.Body), Is.EqualTo(new ReturnedPiece(0, 2)));
    }

    [Test]
    public void Return_ThatWaits_GoesBeforeTheNextFrameOrWhenThePeerAsks([Values] bool isAsked)
    {
        PassFile();
        RecordingCall call = Start();
        _peer.Send(Refer(call.Id, new LoanReference(0, 3, 10)));
        Assert.That(() => Loans.Borrowed.HasNews, Is.True.After(20_000, 2));

        if (isAsked)
        {
            _peer.Send(new RawFrame(FrameKind.ReturnsWanted));
        }
        else
        {
            _connection.Sender.Send(call, FrameKind.HalfClose, 0, default, default);
        }

        RawFrame returned = _peer.Receive();
        Assert.That(returned.Kind, Is.EqualTo(FrameKind.Returned));
        Assert.That(ReturnedPiece.Decode(returned.Body), Is.EqualTo(new ReturnedPiece(0, 3)));
        Assert.That(isAsked || _peer.Receive().Kind == FrameKind.HalfClose);
        Assert.That(Loans.HasNews, Is.False);
    }

    [Test]
    public void Rent_WithoutRoom_AsksOnceUntilSomethingIsReturned()
    {
        LentPiece piece = RentMapped();
        RecordingCall call = Start();
        using PooledBufferWriter message = MessageOf(piece, before: 0);
        LoanRent unlent = Loans.Lent.TryRent(MiB, out _);
        _connection.Sender.SendMessage(call, FrameFlags.Single | FrameFlags.HalfClose, message);
        piece.Dispose();
        LoanRent[] lent = [.. Enumerable.Range(0, 5).Select(_ => Loans.Lent.TryRent(MiB, out LentPiece? _))];

        FrameKind[] kinds = [_peer.Receive().Kind, _peer.Receive().Kind];
        _peer.Send(new RawFrame(FrameKind.Returned, Body: [0, 0, 0, 0, 0, 0, 0, 0]));
        Assert.That(() => Loans.Lent.TakenBytes, Is.Zero.After(20_000, 2));
        using LentPiece again = Rent();

        Assert.That((unlent, lent), Is.EqualTo((LoanRent.LimitReached, Enumerable.Repeat(LoanRent.LimitReached, 5))));
        Assert.That(kinds, Is.EqualTo(new[] { FrameKind.Message, FrameKind.ReturnsWanted }));
        Assert.That(_peer.TryReceive(), Is.Null, "Nothing is on loan before the message, and one wish is enough.");
    }

    [TestCase(1u, 0u, 100u, 0, "file 1, which is not mapped")]
    [TestCase(0u, 15u, 65_537u, 0, "which has 1048576 bytes")]
    [TestCase(0u, 0u, 0u, 0, "0 bytes")]
    [TestCase(0u, 0u, 100u, 1, "for a message of 101")]
    [TestCase(0u, 0u, 100u, -1, "for a message of 99")]
    public void Reference_ThatIsNotAllowed_ClosesTheConnection(
        uint file, uint block, uint length, int more, string problem)
    {
        PassFile();
        RecordingCall call = Start();
        RawFrame frame = Refer(call.Id, new LoanReference(file, block, length));

        _peer.Send(frame with { Argument = (uint)(frame.Argument + more) });

        AssertViolation(problem);
    }

    [TestCase(FrameKind.FileMapped, 0u, "", "file 0, which waits for no answer")]
    [TestCase(FrameKind.FileMapped, 7u, "", "file 7, which waits for no answer")]
    [TestCase(FrameKind.FileRefused, 0u, "", "file 0, which waits for no answer")]
    [TestCase(FrameKind.Returned, 0u, "0000000000000000", "which is not on loan")]
    [TestCase(FrameKind.Returned, 0u, "00", "in 1 bytes")]
    [TestCase(FrameKind.Returned, 0u, "", "in 0 bytes")]
    [TestCase(FrameKind.Bytes, 0u, "00", "Bytes on a connection for calls")]
    public void News_ThatAreNotAllowed_CloseTheConnection(FrameKind kind, uint argument, string body, string problem)
    {
        using LentPiece piece = RentMapped();

        _peer.Send(new RawFrame(kind, Body: Convert.FromHexString(body), Argument: argument));

        AssertViolation(problem);
    }

    [Test]
    public void Connection_ThatEndsWithAReferenceUnderWay_KeepsNothing()
    {
        LentPiece piece = RentMapped();
        RecordingCall call = Start();
        using (PooledBufferWriter message = MessageOf(piece, before: 0))
        {
            _connection.Sender.SendMessage(call, FrameFlags.Single, message);
        }

        piece.Dispose();
        _links.Client.Close(new CloseReason(CloseKind.Local, "The end."));

        Assert.That(() => Loans.Lent.TakenBytes, Is.Zero.After(20_000, 2));
    }

    // Rents a piece of the first file, which the peer says it has mapped.
    private LentPiece RentMapped()
    {
        LentPiece piece = Rent();
        _peer.Send(new RawFrame(FrameKind.FileMapped));
        Assert.That(() => Loans.Lent.MappedBytes, Is.EqualTo(MiB).After(20_000, 2));
        return piece;
    }

    private LentPiece Rent()
    {
        Assert.That(Loans.Lent.TryRent(MiB, out LentPiece? piece), Is.EqualTo(LoanRent.Piece));
        return piece!;
    }

    // Passes a file of the server, and waits for the answer.
    private void PassFile()
    {
        using SafeFileHandle file = Descriptors.MemoryFile(MiB, Descriptors.AllRequired);
        byte[] notice = new byte[FileNotice.EncodedBytes];
        new FileNotice(0, MiB).Encode(notice);
        RawDescriptorSender.Send(_links.Sockets.Server, notice, file);
        RawFrame answer = _peer.Receive();
        Assert.That((answer.Kind, answer.Argument), Is.EqualTo((FrameKind.FileMapped, 0u)));
    }

    private RecordingCall Start()
    {
        var call = new RecordingCall();
        Assert.That(_connection.StartCall(call, FrameFlags.None, "head"u8, default), Is.EqualTo(StartResult.Started));
        Assert.That(_peer.Receive().Call, Is.EqualTo(call.Id));
        return call;
    }

    private static PooledBufferWriter MessageOf(LentPiece piece, int before)
    {
        var message = new PooledBufferWriter();
        message.Write(BytePattern.Of(before));
        message.Attach(piece);
        return message;
    }

    private static RawFrame Refer(CallId call, LoanReference reference, byte[]? before = null)
    {
        byte[] body = new byte[LoanReference.SizeBytes];
        reference.Encode(body);
        byte[] all = [.. body, .. before ?? []];
        return new RawFrame(FrameKind.Message, call, FrameFlags.Loaned, Body: all)
        {
            Argument = (uint)(reference.Length + all.Length - LoanReference.SizeBytes),
        };
    }

    private void AssertViolation(string problem)
    {
        Assert.That(_connection.Closed.Wait(Timeouts.Wait), "The connection ends.");
        Assert.That(_connection.CloseReason!.Kind, Is.EqualTo(CloseKind.PeerViolation));
        Assert.That(_connection.CloseReason.Text, Does.Contain(problem));
    }
}
