using System.Diagnostics;
using System.Net.Sockets;
using System.Runtime.CompilerServices;
using System.Runtime.ExceptionServices;
using Microsoft.Extensions.Logging.Abstractions;
using RpcOverShm.Connections;
using RpcOverShm.Links;
using RpcOverShm.Linux;
using RpcOverShm.Protocol;
using RpcOverShm.Rings;
using RpcOverShm.Systems;

namespace RpcOverShm.Fuzz.Frames;

/// <summary>
/// The frames of a hostile peer on a real connection, which is not started: one thread reads them as the holder of the
/// reader role does, and runs the user code that they make runnable. The connection's answers are checked and their
/// space is given back after each frame, so the ring is never full and no thread waits for space. The thread is one of
/// the thread pool. <see cref="Program"/> limits the pool to that thread while it fuzzes: what an input queues to the
/// pool then runs after it in a fixed order, and the same input always has the same edges.
/// <para>An input is a sequence of steps.</para>
/// </summary>
internal abstract class FrameTarget : FuzzTarget
{
    /// <summary>The initial credit of each call and direction. Small, so that a few bytes use it up.</summary>
    protected const uint Window = 256;

    protected const uint MaxCalls = 8;

    private const int RingBytes = 64 << 10;
    private const int MaxMetadataBytes = 1000;
    private const int MostStepPayload = 2000;

    // What is queued to the pool by the input may queue more.
    private const int LeastPasses = 4;
    private const int MostPasses = 10_000;

    // Where the pool has more than one thread, they may be slow on a busy machine.
    private static readonly TimeSpan s_mostUntilEnded = TimeSpan.FromMinutes(1);

    private readonly bool _isAcceptor;
    private readonly AutoResetEvent _ended = new(false);
    private readonly SegmentPair _own = new(RingBytes);
    private readonly SegmentPair _peer = new(RingBytes);
    private readonly SocketWire _wire =
        new(new Socket(AddressFamily.Unix, SocketType.Stream, ProtocolType.Unspecified));
    private readonly PeerIdentity _identity = new(1, 0, 0);
    private readonly ConnectionSettings _settings;
    private readonly PeerLimits _peerLimits;

    protected FrameTarget(bool isAcceptor)
    {
        _isAcceptor = isAcceptor;
        _settings = new ConnectionSettings
        {
            Purpose = ConnectionPurpose.Calls,
            Limits = new PeerLimits(RingBytes, Window, isAcceptor ? MaxCalls : 0, MaxMetadataBytes),
            ConnectTimeout = Timeout.InfiniteTimeSpan,
            Logger = NullLogger.Instance,
        };
        _peerLimits = new PeerLimits(RingBytes, Window, isAcceptor ? 0 : MaxCalls, MaxMetadataBytes);
    }

    // A connection with its tables, and for each frame, of at least a step's header, a call with its method.
    protected override int BytesAtLeast => 256 << 10;

    protected override int BytesForEachByte => 2048;

    /// <summary>Creates the connection of one input.</summary>
    protected abstract Connection Connect(PeerLink link);

    /// <summary>Checks what the user code has seen, after all of it has ended.</summary>
    protected virtual void CheckEnded()
    {
    }

    /// <summary>Does an action of this side's user.</summary>
    protected abstract void Act(byte action);

    /// <summary>Whether all user code that the input started has ended. The connection is closed.</summary>
    protected abstract bool IsAllEnded { get; }

    protected override long Measure(ReadOnlySpan<byte> input)
    {
        byte[] copy = input.ToArray();
        long allocated = 0;
        ExceptionDispatchInfo? failure = null;
        RunOnPool(() =>
        {
            try
            {
                long before = GC.GetAllocatedBytesForCurrentThread();
                Read(copy);
                allocated = GC.GetAllocatedBytesForCurrentThread() - before;
            }
            catch (Exception exception)
            {
                failure = ExceptionDispatchInfo.Capture(exception);
            }
        });
        _ended.WaitOne();
        failure?.Throw();
        WaitUntilAllEnded();
        CheckEnded();
        return allocated;
    }

    protected override void Read(ReadOnlySpan<byte> input)
    {
        _own.Reset();
        _peer.Reset();
        var link = new PeerLink(
            _wire,
            _own.Own,
            _peer.View,
            HostSystem.Current.CreateSignal(),
            _identity,
            Guid.Empty,
            _settings,
            _peerLimits,
            _isAcceptor);
        Connection connection = Connect(link);
        var ring = new RingWriter(_peer.Own, _own.View);
        var answers = new Answers(new RingReader(_peer.Own, _own.View), _isAcceptor);
        try
        {
            answers.Take();
            while (Step.TryTake(ref input, MostStepPayload, out Step step))
            {
                if (step.IsAction)
                {
                    Act(step.Kind);
                }
                else
                {
                    Send(ring, step);
                    Receive(ReceiverOf(connection), answers);
                }

                answers.Take();
            }
        }
        catch (ProtocolException)
        {
            // The documented refusal: it ends the connection.
        }

        Close(connection, link);
    }

    private static void Send(RingWriter ring, in Step step)
    {
        Require(ring.TryClaim(step.Payload.Length, isControl: true, out RingClaim claim), "The ring has room.");
        step.Payload.CopyTo(claim.Payload);
        if (step.Kind == (byte)FrameKind.CallStart)
        {
            LengthenTimeout(claim.Payload);
        }

        ring.Commit(claim, new RecordHeader(
            (uint)step.Payload.Length, step.Kind, step.Flags, step.HeadBytes, step.Call.Value, step.Argument));
        ring.Publish();
    }

    // A timer would end the call on another thread, at a time of its own. 2^40 units of 100 ns are 30 hours.
    private static void LengthenTimeout(Span<byte> head)
    {
        const int FirstByte = 5;
        if (head.Length > 2 && (head[0] & 1) != 0)
        {
            int place = 3 + head[1] + (head[2] << 8) + FirstByte;
            if (place < head.Length)
            {
                head[place] |= 1;
            }
        }
    }

    private static void Receive(FrameReceiver receiver, Answers answers)
    {
        while (receiver.TryReceive(out ConnectionCall? call))
        {
            answers.Take();
            call?.RunUserCode();
        }
    }

    // As Connection.OnClosed does, on this thread. The link's own Close would leave the socket to a thread that closes
    // sockets, whose edges would mix with those of the next input.
    private void Close(Connection connection, PeerLink link)
    {
        var reason = new CloseReason(CloseKind.Local, "The input is at its end.");
        ReasonOf(link) = reason;
        FrameSender sender = connection.Sender;
        sender.Close();
        IEnumerable<ConnectionCall> calls = sender.Outgoing.Snapshot().Concat(sender.Incoming.Snapshot());
        foreach (ConnectionCall call in ReceiverOf(connection).EndingCall is { } ending ? calls.Append(ending) : calls)
        {
            call.OnConnectionClosed(reason);
            call.RunUserCode();
        }
    }

    private void WaitUntilAllEnded()
    {
        long start = Stopwatch.GetTimestamp();
        for (int pass = 0; pass < LeastPasses || !IsAllEnded; pass++)
        {
            Require(
                pass < MostPasses || Stopwatch.GetElapsedTime(start) < s_mostUntilEnded,
                "User code ends with its connection.");
            RunOnPool(() => { });
            _ended.WaitOne();
        }
    }

    // Behind everything that was queued before.
    private void RunOnPool(Action action) => ThreadPool.UnsafeQueueUserWorkItem(
        _ =>
        {
            action();
            _ended.Set();
        },
        state: null);

    [UnsafeAccessor(UnsafeAccessorKind.Field, Name = "_receiver")]
    private static extern ref FrameReceiver ReceiverOf(Connection connection);

    [UnsafeAccessor(UnsafeAccessorKind.Field, Name = "_closeReason")]
    private static extern ref CloseReason? ReasonOf(PeerLink link);
}
