using System.Net.Sockets;
using Microsoft.Extensions.Logging.Abstractions;
using RpcOverShm.Links;
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
    private readonly Wire _wire;
    private readonly Signal _signal;
    private readonly SharedSegment _peer;
    private volatile bool _isOver;

    private RawPeer(
        Wire wire, Signal signal, SharedSegment own, SharedSegment peer, PeerLimits peerLimits, bool hasSecondRing)
    {
        _wire = wire;
        _signal = signal;
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

    /// <summary>The socket on Linux, which stays this object's.</summary>
    public Socket Socket => new(new SafeSocketHandle(_wire.Handle.DangerousGetHandle(), ownsHandle: false))
    {
        Blocking = false,
    };

    /// <summary>Connects as a client does.</summary>
    /// <param name="place">The server's socket, or its pipe on Windows.</param>
    /// <param name="limits">The limits in the hello; null for generous ones.</param>
    /// <param name="hasSecondRing">Whether a large ring gets its memory, and is used from the first record on.</param>
    /// <param name="own">This side's segment, which the peer disposes of; null for an honest one.</param>
    /// <param name="features">The bits that the hello offers.</param>
    public static async Task<RawPeer> ConnectAsync(
        string place,
        PeerLimits? limits = null,
        bool hasSecondRing = true,
        SharedSegment? own = null,
        uint features = 0)
    {
        PeerLimits mine = limits ?? Generous;
        Wire? wire = null;
        Signal signal = HostSystem.Current.CreateSignal();
        try
        {
            wire = await ConnectWireAsync(place);
            var id = Guid.NewGuid();
            own ??= SharedSegment.Create(mine.RingCapacity, id);
            Handshake.Send(wire, RawHello.Of(HelloType.Client, mine, id) with { Features = features }, own, signal);
            own.ReleaseHandle();
            using Handshake.ReceivedHello answer =
                (await Handshake.ReceiveAsync(wire, CancellationToken.None).Bounded())!;
            return answer.Hello.Type == HelloType.Server
                ? Open(wire, signal, own, answer, hasSecondRing)
                : throw new InvalidOperationException($"Refused: {answer.Hello.RefusalText}");
        }
        catch
        {
            signal.Dispose();
            own?.Dispose();
            wire?.Dispose();
            throw;
        }
    }

    /// <summary>Connects without a handshake.</summary>
    public static Task<Wire> ConnectWireAsync(string place) => HostSystem.Current.ConnectAsync(
        RawAddress.OfPlace(place), NullLogger.Instance, CancellationToken.None).Bounded();

    /// <summary>Answers a client's hello as a server does. If this fails, the caller still owns the wire.</summary>
    /// <exception cref="IOException">The client closed its wire first.</exception>
    public static async Task<RawPeer> AcceptAsync(
        Wire wire, PeerLimits? limits = null, bool hasSecondRing = true, SharedSegment? own = null)
    {
        PeerLimits mine = limits ?? Generous;
        using Handshake.ReceivedHello hello = await Handshake.ReceiveAsync(wire, CancellationToken.None).Bounded()
            ?? throw new IOException("The client has gone before its hello.");
        own ??= SharedSegment.Create(mine.RingCapacity, hello.Hello.ConnectionId);
        Signal signal = HostSystem.Current.CreateSignal();
        try
        {
            Handshake.Send(wire, RawHello.Of(HelloType.Server, mine, hello.Hello.ConnectionId), own, signal);
            own.ReleaseHandle();
            return Open(wire, signal, own, hello, hasSecondRing);
        }
        catch
        {
            // The client has given up. Without this the mapping would stay until the process ends.
            signal.Dispose();
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
    /// Sends bytes beside the memory, without waiting. Returns false if the victim has closed its end; bytes for which
    /// the victim's buffer has no space are dropped.
    /// </summary>
    public bool TrySendBytes(ReadOnlySpan<byte> bytes)
    {
        const int SomeTaken = 0;
        const int Again = 11;    // EAGAIN
        const int Aborted = 995; // ERROR_OPERATION_ABORTED
        try
        {
            _wire.Send(bytes, []);
            return true;
        }
        catch (IOException exception)
        {
            return exception.HResult is SomeTaken or Again or Aborted;
        }
    }

    /// <summary>Ends the wire and leaves the memory.</summary>
    public void EndWire() => _wire.ShutDown();

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

    /// <summary>Waits until the victim has closed the wire; returns its farewell text, or an empty one.</summary>
    public async Task<string> ClosedAsync()
    {
        try
        {
            using Handshake.ReceivedHello? last =
                await Handshake.ReceiveAsync(_wire, CancellationToken.None).Bounded();
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

    /// <summary>Closes the connection as the system does for a process that dies.</summary>
    public void Dispose()
    {
        _wire.Dispose();
        _signal.Dispose();
        Own.Dispose();
        _peer.Dispose();
    }

    private static RawPeer Open(
        Wire wire, Signal signal, SharedSegment own, Handshake.ReceivedHello hello, bool hasSecondRing)
    {
        SharedSegment peer = hello.OpenSegment();
        try
        {
            hello.Connect(signal, own, peer);
            return new RawPeer(wire, signal, own, peer, hello.Hello.Limits, hasSecondRing);
        }
        catch
        {
            peer.Dispose();
            throw;
        }
    }

    /// <summary>Wakes the victim's threads in any case, and its event loop if the doorbell says so.</summary>
    private void Wake(ref long word, WakeMethods wakeMethods)
    {
        _signal.Wake(new SharedWord(ref word));
        if ((wakeMethods & WakeMethods.Doorbell) != 0)
        {
            _wire.Ring(PeerLink.DoorbellByte);
        }
    }
}
