using System.Net.Sockets;
using RpcOverShm.Links;
using RpcOverShm.Linux;
using RpcOverShm.Protocol;
using RpcOverShm.Rings;
using RpcOverShm.Segments;
using RpcOverShm.Systems;

namespace RpcOverShm.FunctionalTests.Hostile;

/// <summary>
/// A scripted side of a connection, built on the library's lowest classes: after the handshake it does only what the
/// test says, legal or not, and reads and releases nothing by itself. Not thread-safe.
/// </summary>
internal sealed class RawPeer : IDisposable
{
    private readonly Socket _socket;
    private readonly FutexSignal _signal = new FutexSignal(FutexSignal.IsWaitvSupported);
    private readonly SharedSegment _peer;
    private volatile bool _isOver;

    private RawPeer(
        Socket socket, SharedSegment own, SharedSegment peer, PeerLimits peerLimits, bool hasSecondRing = true)
    {
        _socket = socket;
        _peer = peer;
        Own = own;
        PeerLimits = peerLimits;
        Writer = new RingWriter(own, peer);
        Reader = new RingReader(own, peer);
        if (own.SecondCapacity > 0 && hasSecondRing)
        {
            // From its first record on, this side writes records of any size that its hello allows.
            Assert.That(own.TryAllocateSecond(), Is.Null);
            Writer.AllowMove();
        }
    }

    /// <summary>Limits under which only the ring's space stops the victim from sending.</summary>
    public static PeerLimits Generous { get; } =
        new(SegmentLayout.MinRingCapacityBytes, PeerLimits.LargestCallWindow, PeerLimits.CallsPerConnection, 1 << 20);

    public SharedSegment Own { get; }

    public PeerLimits PeerLimits { get; }

    public RingWriter Writer { get; }

    public RingReader Reader { get; }

    public long Capacity => Own.RingCapacity;

    /// <summary>The position up to which the victim claims to have read.</summary>
    public long PeerHead => SharedMemoryOrder.ReadAcquire(ref _peer.Head);

    /// <summary>The position up to which the victim has published.</summary>
    public long PeerTail => SharedMemoryOrder.ReadAcquire(ref _peer.Tail);

    /// <summary>Whether the victim sleeps until its ring has space.</summary>
    public bool IsVictimParkedForSpace => SharedMemoryOrder.ReadAcquire(ref _peer.ParkedForSpace) != 0;

    public Socket Socket => _socket;

    /// <summary>Connects as a client does.</summary>
    /// <param name="path">The server's socket.</param>
    /// <param name="limits">The limits in the hello; null for generous ones.</param>
    /// <param name="hasSecondRing">Whether a large ring gets its memory, and is used from the first record on.</param>
    /// <param name="own">This side's segment, which the peer disposes of; null for an honest one.</param>
    /// <param name="features">The bits that the hello offers.</param>
    public static async Task<RawPeer> ConnectAsync(
        string path,
        PeerLimits? limits = null,
        bool hasSecondRing = true,
        SharedSegment? own = null,
        uint features = 0)
    {
        PeerLimits mine = limits ?? Generous;
        Socket socket = UnixSockets.New();
        try
        {
            await socket.ConnectAsync(new UnixDomainSocketEndPoint(path));
            var id = Guid.NewGuid();
            own ??= SharedSegment.Create(mine.RingCapacity, id);
            RawHandshake.Send(socket, RawHello.Of(HelloType.Client, mine, id) with { Features = features }, own);
            own.ReleaseHandle();
            using Handshake.ReceivedHello answer =
                (await RawHandshake.ReceiveAsync(socket, CancellationToken.None).Bounded())!;
            return answer.Hello.Type == HelloType.Server
                ? new RawPeer(socket, own, answer.OpenSegment(), answer.Hello.Limits, hasSecondRing)
                : throw new InvalidOperationException($"Refused: {answer.Hello.RefusalText}");
        }
        catch
        {
            own?.Dispose();
            socket.Dispose();
            throw;
        }
    }

    /// <summary>Answers a client's hello as a server does. If this fails, the caller still owns the socket.</summary>
    /// <exception cref="IOException">The client closed its socket first.</exception>
    public static async Task<RawPeer> AcceptAsync(
        Socket socket, PeerLimits? limits = null, bool hasSecondRing = true, SharedSegment? own = null)
    {
        PeerLimits mine = limits ?? Generous;
        using Handshake.ReceivedHello hello = await RawHandshake.ReceiveAsync(socket, CancellationToken.None).Bounded()
            ?? throw new IOException("The client has gone before its hello.");
        own ??= SharedSegment.Create(mine.RingCapacity, hello.Hello.ConnectionId);
        try
        {
            RawHandshake.Send(socket, RawHello.Of(HelloType.Server, mine, hello.Hello.ConnectionId), own);
            own.ReleaseHandle();
            return new RawPeer(socket, own, hello.OpenSegment(), hello.Hello.Limits, hasSecondRing);
        }
        catch
        {
            // The client has given up. Without this the mapping would stay until the process ends.
            own.Dispose();
            throw;
        }
    }

    /// <summary>Sends one frame with the given header fields; only the length is always true.</summary>
    public void Send(
        FrameKind kind,
        CallId call = default,
        FrameFlags flags = 0,
        byte[]? head = null,
        byte[]? body = null,
        uint argument = 0,
        int? headLength = null)
    {
        if (!TrySend(new RawFrame(kind, call, flags, head, body, argument) { StatedHeadLength = headLength }))
        {
            throw new InvalidOperationException("The victim has left no space.");
        }
    }

    /// <summary>Sends one frame; returns false if the victim has left no space.</summary>
    public bool TrySend(RawFrame frame)
    {
        if (!TryWrite(frame))
        {
            return false;
        }

        Publish();
        return true;
    }

    /// <summary>Writes one frame without publishing it; returns false if the victim has left no space.</summary>
    public bool TryWrite(RawFrame frame) => frame.TryWrite(Writer);

    /// <summary>Publishes all frames written and wakes the victim.</summary>
    public void Publish() => Wake(ref Own.Tail, Writer.Publish());

    /// <summary>Waits for space and sends one frame; returns false if the victim closes the connection first.</summary>
    public async Task<bool> SendWhenThereIsSpaceAsync(RawFrame frame)
    {
        while (!_isOver)
        {
            if (TrySend(frame))
            {
                return true;
            }

            await Task.Yield();
        }

        return false;
    }

    /// <summary>Writes a header, true or not, at any position of the ring without publishing it.</summary>
    public unsafe void Plant(long position, RecordHeader header) =>
        *(RecordHeader*)(Own.Data + (position & (Capacity - 1))) = header;

    /// <summary>Writes a header, true or not, at any position of the second ring without publishing it.</summary>
    public unsafe void PlantInSecond(long position, RecordHeader header) =>
        *(RecordHeader*)(Own.SecondData + (position & (Own.SecondCapacity - 1))) = header;

    /// <summary>
    /// Publishes a move to the second ring and the header of a record there. Of its payload nothing is written.
    /// </summary>
    public void MoveTo(RecordHeader next)
    {
        long move = Own.Tail;
        Plant(move, new RecordHeader(0, RecordHeader.MovedKind, 0, 0, 0, 0));
        PlantInSecond(move + RecordHeader.SizeBytes, next);
        SetTail(move + RecordHeader.SizeBytes + RecordHeader.RecordLength(next.PayloadLength));
    }

    /// <summary>Publishes a tail, true or not, and wakes the victim.</summary>
    public void SetTail(long tail)
    {
        SharedMemoryOrder.WriteFenced(ref Own.Tail, tail);
        Wake(ref Own.Tail, WakeMethods.Doorbell);
    }

    /// <summary>
    /// Publishes a tail, true or not, and wakes the victim as an honest peer does: once for each parked word, when the
    /// tail is beyond its position. A victim that was rung without data parks with the same word again.
    /// </summary>
    public void SetTail(long tail, ref long rungFor)
    {
        SharedMemoryOrder.WriteFenced(ref Own.Tail, tail);
        long parked = SharedMemoryOrder.ReadAcquire(ref _peer.ParkedForData);
        if (parked != 0 && parked != rungFor && tail > (parked & ParkedWord.PositionMask))
        {
            rungFor = parked;
            Wake(ref Own.Tail, ParkedWord.WakeMethodsOf(parked));
        }
    }

    /// <summary>Publishes a head, true or not, and wakes the victim.</summary>
    public void SetHead(long head)
    {
        SharedMemoryOrder.WriteFenced(ref Own.Head, head);
        Wake(ref Own.Head, WakeMethods.Doorbell);
    }

    /// <summary>
    /// Sends bytes on the socket, without waiting. Returns false if the victim has closed its end; bytes for which the
    /// victim's buffer has no space are dropped.
    /// </summary>
    public bool TrySendBytes(ReadOnlySpan<byte> bytes)
    {
        _socket.Blocking = false;
        _socket.Send(bytes, SocketFlags.None, out SocketError error);
        return error is SocketError.Success or SocketError.WouldBlock;
    }

    /// <summary>Reads the victim's next frame and releases its space; returns false if there is none.</summary>
    public bool TryReceive(out RawFrame frame)
    {
        if (!Reader.TryRead(out RecordHeader header, out ReadOnlySpan<byte> payload))
        {
            frame = default!;
            return false;
        }

        frame = RawFrame.Of(header, payload);
        Wake(ref Own.Head, Reader.Release() | Reader.PublishHead());
        return true;
    }

    public async Task<RawFrame> ReceiveAsync()
    {
        RawFrame frame = default!;
        await Timeouts.Eventually(() => TryReceive(out frame), "the victim sends a frame");
        return frame;
    }

    /// <summary>Waits until the victim has read every published frame.</summary>
    public Task ReadByVictimAsync() =>
        Timeouts.Eventually(() => PeerHead == Own.Tail, "the victim has read everything");

    /// <summary>Waits for a frame of this kind and drops all others before it.</summary>
    public async Task<RawFrame> ReceiveAsync(FrameKind kind)
    {
        while (true)
        {
            RawFrame frame = await ReceiveAsync();
            if (frame.Kind == kind)
            {
                return frame;
            }
        }
    }

    /// <summary>Waits until the victim has closed the socket; returns its farewell text, or an empty one.</summary>
    public async Task<string> ClosedAsync()
    {
        try
        {
            using Handshake.ReceivedHello? last = await RawHandshake.ReceiveAsync(
                _socket, CancellationToken.None).Bounded();
            return last?.Hello.RefusalText ?? "";
        }
        catch (IOException)
        {
            // A reset: the victim had not read all when it closed, such as the doorbell of the last frame.
            return "";
        }
        finally
        {
            _isOver = true;
        }
    }

    /// <summary>Wakes the victim's threads in any case, and its event loop if the doorbell says so.</summary>
    private void Wake(ref long word, WakeMethods wakeMethods)
    {
        _signal.Wake(new SharedWord(ref word));
        if ((wakeMethods & WakeMethods.Doorbell) != 0)
        {
            new SocketWire(_socket).Ring(PeerLink.DoorbellByte);
        }
    }

    /// <summary>Closes the connection as the kernel does for a process that dies.</summary>
    public void Dispose()
    {
        _socket.Dispose();
        Own.Dispose();
        _peer.Dispose();
    }
}
