using System.Net.Sockets;
using Microsoft.Win32.SafeHandles;
using RpcOverShm.Links;
using RpcOverShm.Protocol;
using RpcOverShm.Rings;
using RpcOverShm.Segments;
using RpcOverShm.Signals;

namespace RpcOverShm.FunctionalTests.Hostile;

/// <summary>
/// One side of a connection that is spoken by hand, with the product's own lowest classes: after the handshake it does
/// whatever a test wants, legal or not. Reads nothing and frees nothing unless it is told to. For one thread at a time.
/// </summary>
internal sealed class RawPeer : IDisposable
{
    private readonly Socket _socket;
    private readonly FutexSignal _signal = new FutexSignal(FutexSignal.IsWaitvSupported);
    private readonly SharedSegment _peer;
    private volatile bool _isOver;

    private RawPeer(Socket socket, SharedSegment own, SharedSegment peer, PeerLimits peerLimits)
    {
        _socket = socket;
        _peer = peer;
        Own = own;
        PeerLimits = peerLimits;
        Writer = new RingWriter(own, peer);
        Reader = new RingReader(own, peer);
    }

    /// <summary>Limits with which nothing but the ring bounds what the victim sends.</summary>
    public static PeerLimits Generous { get; } =
        new(SegmentLayout.MinRingCapacityBytes, PeerLimits.LargestCallWindow, PeerLimits.CallsPerConnection, 1 << 20);

    public SharedSegment Own { get; }

    public PeerLimits PeerLimits { get; }

    public RingWriter Writer { get; }

    public RingReader Reader { get; }

    public long Capacity => Own.RingCapacity;

    /// <summary>How far the victim says that it has read.</summary>
    public long PeerHead => SharedMemoryOrder.ReadAcquire(ref _peer.Head);

    /// <summary>How far the victim has written its ring.</summary>
    public long PeerTail => SharedMemoryOrder.ReadAcquire(ref _peer.Tail);

    public Socket Socket => _socket;

    /// <summary>Connects as a client would.</summary>
    public static async Task<RawPeer> ConnectAsync(string path, PeerLimits? limits = null)
    {
        PeerLimits mine = limits ?? Generous;
        var socket = new Socket(AddressFamily.Unix, SocketType.Stream, ProtocolType.Unspecified);
        SharedSegment? own = null;
        try
        {
            await socket.ConnectAsync(new UnixDomainSocketEndPoint(path));
            var id = Guid.NewGuid();
            own = SharedSegment.Create(mine.RingCapacity, id);
            Handshake.Send(socket, MakeHello(HelloType.Client, id, mine), own);
            own.ReleaseDescriptor();
            using Handshake.ReceivedHello answer =
                (await Handshake.ReceiveAsync(socket, CancellationToken.None).Bounded())!;
            return answer.Hello.Type == HelloType.Server
                ? new RawPeer(socket, own, Open(answer), answer.Hello.Limits)
                : throw new InvalidOperationException($"Refused: {answer.Hello.RefusalText}");
        }
        catch
        {
            own?.Dispose();
            socket.Dispose();
            throw;
        }
    }

    /// <summary>Answers a client's hello as a server would. The socket stays the caller's when it fails.</summary>
    /// <exception cref="IOException">The client has gone before it was answered.</exception>
    public static async Task<RawPeer> AcceptAsync(Socket socket, PeerLimits? limits = null)
    {
        PeerLimits mine = limits ?? Generous;
        using Handshake.ReceivedHello hello = await Handshake.ReceiveAsync(socket, CancellationToken.None).Bounded()
            ?? throw new IOException("The client has gone before its hello.");
        var own = SharedSegment.Create(mine.RingCapacity, hello.Hello.ConnectionId);
        try
        {
            Handshake.Send(socket, MakeHello(HelloType.Server, hello.Hello.ConnectionId, mine), own);
            own.ReleaseDescriptor();
            return new RawPeer(socket, own, Open(hello), hello.Hello.Limits);
        }
        catch
        {
            // A client that has given up by now: a mapping that is left is there until the process ends.
            own.Dispose();
            throw;
        }
    }

    public static Hello MakeHello(HelloType type, Guid id, PeerLimits limits) => new()
    {
        Type = type,
        Purpose = ConnectionPurpose.Calls,
        ConnectionId = id,
        Limits = limits,
    };

    /// <summary>Sends one frame; its header says what it is told to say, but for the length.</summary>
    public void Send(
        FrameKind kind,
        CallId call = default,
        FrameFlags flags = 0,
        ReadOnlySpan<byte> head = default,
        ReadOnlySpan<byte> body = default,
        uint argument = 0,
        int? headLength = null)
    {
        if (!TrySend(kind, call, flags, head, body, argument, headLength))
        {
            throw new InvalidOperationException("The victim has left no space.");
        }
    }

    /// <summary>The same; false when the victim has left no space.</summary>
    public bool TrySend(
        FrameKind kind,
        CallId call,
        FrameFlags flags,
        ReadOnlySpan<byte> head,
        ReadOnlySpan<byte> body,
        uint argument = 0,
        int? headLength = null)
    {
        if (!TryWrite(kind, call, flags, head, body, argument, headLength))
        {
            return false;
        }

        Publish();
        return true;
    }

    /// <summary>Writes one frame, which the victim sees with the next that is published.</summary>
    public bool TryWrite(
        FrameKind kind,
        CallId call,
        FrameFlags flags,
        ReadOnlySpan<byte> head,
        ReadOnlySpan<byte> body,
        uint argument = 0,
        int? headLength = null)
    {
        int length = head.Length + body.Length;
        if (!Writer.TryClaim(length, isControl: true, out RingClaim claim))
        {
            return false;
        }

        head.CopyTo(claim.Payload);
        body.CopyTo(claim.Payload[head.Length..]);
        Writer.Commit(claim, new RecordHeader(
            (uint)length, (byte)kind, (byte)flags, (ushort)(headLength ?? head.Length), call.Value, argument));
        return true;
    }

    /// <summary>Shows the victim all that was written.</summary>
    public void Publish()
    {
        Writer.Publish();
        _signal.Wake(new SharedWord(ref Own.Tail));
    }

    /// <summary>The same, waiting for the victim to read. False when it has closed the connection meanwhile.</summary>
    public async Task<bool> SendWhenThereIsSpaceAsync(
        FrameKind kind, CallId call, FrameFlags flags, byte[] head, byte[] body, uint argument = 0)
    {
        while (!_isOver)
        {
            if (TrySend(kind, call, flags, head, body, argument))
            {
                return true;
            }

            await Task.Yield();
        }

        return false;
    }

    /// <summary>Puts a header anywhere into the ring, true or not, without telling the victim.</summary>
    public unsafe void Plant(long position, RecordHeader header) =>
        *(RecordHeader*)(Own.Data + (position & (Capacity - 1))) = header;

    /// <summary>Says that the ring is written up to here, true or not.</summary>
    public void SetTail(long tail)
    {
        SharedMemoryOrder.WriteFenced(ref Own.Tail, tail);
        _signal.Wake(new SharedWord(ref Own.Tail));
    }

    /// <summary>Says that the victim's ring was read up to here, true or not.</summary>
    public void SetHead(long head)
    {
        SharedMemoryOrder.WriteFenced(ref Own.Head, head);
        _signal.Wake(new SharedWord(ref Own.Head));
    }

    /// <summary>Takes the next frame of the victim and frees its space. False when there is none.</summary>
    public bool TryReceive(out RawFrame frame)
    {
        if (!Reader.TryRead(out RecordHeader header, out ReadOnlySpan<byte> payload))
        {
            frame = default!;
            return false;
        }

        frame = new RawFrame(
            (FrameKind)header.Kind,
            (FrameFlags)header.Flags,
            new CallId(header.StreamId),
            header.Argument,
            payload[..Math.Min(header.HeadLength, payload.Length)].ToArray(),
            payload[Math.Min(header.HeadLength, payload.Length)..].ToArray());
        Reader.Release();
        Reader.PublishHead();
        _signal.Wake(new SharedWord(ref Own.Head));
        return true;
    }

    public async Task<RawFrame> ReceiveAsync()
    {
        RawFrame frame = default!;
        await Timeouts.Eventually(() => TryReceive(out frame), "the victim sends a frame");
        return frame;
    }

    /// <summary>Waits until the victim has read all that was sent.</summary>
    public Task ReadByVictimAsync() =>
        Timeouts.Eventually(() => PeerHead == Own.Tail, "the victim has read everything");

    /// <summary>Waits for a frame of this kind; others before it are dropped.</summary>
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

    /// <summary>
    /// Waits until the victim has closed the socket; returns its last word, empty where it said none.
    /// </summary>
    public async Task<string> ClosedAsync()
    {
        try
        {
            using Handshake.ReceivedHello? last = await Handshake.ReceiveAsync(
                _socket, CancellationToken.None).Bounded();
            return last?.Hello.RefusalText ?? "";
        }
        catch (SocketException)
        {
            return "";
        }
        finally
        {
            _isOver = true;
        }
    }

    /// <summary>Ends the connection as the kernel does for a process that dies.</summary>
    public void Dispose()
    {
        _socket.Dispose();
        Own.Dispose();
        _peer.Dispose();
    }

    private static SharedSegment Open(Handshake.ReceivedHello hello)
    {
        // Opening closes the descriptor, which the hello would do again.
        var descriptor = new SafeFileHandle(hello.Descriptor!.DangerousGetHandle(), ownsHandle: true);
        hello.Descriptor.SetHandleAsInvalid();
        return SharedSegment.Open(descriptor, hello.Hello.Limits.RingCapacity);
    }
}
