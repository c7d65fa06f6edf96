using Grpc.Core;
using RpcOverShm.Buffers;
using RpcOverShm.Calls;
using RpcOverShm.Connections;
using RpcOverShm.Diagnostics;
using RpcOverShm.Protocol;
using RpcOverShm.Scheduling;

namespace RpcOverShm.Servers;

/// <summary>
/// An incoming call, from its first frame through its method to the End frame, which is sent exactly once. The method's
/// result, the deadline, a cancel by the client, a refusal and the end of the connection race to end the call. The
/// first wins; later ones are dropped.
/// </summary>
internal sealed partial class ServerCall(ServerConnection owner) : ConnectionCall
{
    private CancellationTokenSource? _cancellation; // made on first use
    private ReceivedMessage _request;        // the single request, if it came whole in the first frame
    private MethodHandler? _handler;
    private DueTime? _deadline;
    private volatile bool _isStopped; // ended from outside its method
    private int _endStatus; // 0, or the mark of an end with its status
    private volatile bool _isRefused; // the method never runs
    private bool _isMethodCounted;    // the method has begun and is counted; only for its own thread
    private OrphanState _orphanState; // of a one-way call

    /// <summary>
    /// The ticket of a call that waits, belongs to a chain or starts in order; null for most calls.
    /// </summary>
    public CallTicket? Ticket { get; set; }

    /// <summary>The call as parent of the calls that its method makes; null if none needs it.</summary>
    public RunningCall? RunningCall { get; set; }

    /// <summary>The full name of the method, with the leading slash.</summary>
    public string MethodName { get; private set; } = "";

    /// <summary>The authority that the client named; else gRPC's default for local sockets.</summary>
    public string Host { get; private set; } = "localhost";

    /// <summary>The deadline in UTC; the maximum value if the client set none.</summary>
    public DateTime Deadline { get; private set; } = DateTime.MaxValue;

    public Metadata RequestHeaders { get; private set; } = Metadata.Empty;

    /// <summary>
    /// The memory that the texts of the request's head take, at most. Measured before the method can change its
    /// metadata.
    /// </summary>
    public int HeadBytes { get; private set; }

    public override long BytesKeptUntilEnd => HeadBytes;

    /// <summary>The codec that the client chose; null for the generated marshallers.</summary>
    public string? Codec { get; private set; }

    /// <summary>
    /// The requests; null for a single request that came whole in the first frame. Set before the method runs.
    /// </summary>
    public RequestMessages? Requests { get; private set; }

    public CancellationToken CancellationToken => ServerCallCancellation.Get(ref _cancellation);

    public override InlineBudget InlineBudget => _handler!.InlineBudget;

    public ServerConnection Owner => owner;

    public MethodHandler Handler => _handler!;

    public MessageMark RequestMark { get; private set; }

    public bool IsLastRequestCompressed { get; set; }

    /// <summary>Whether the call was ended from outside its method. The token may fire a little later.</summary>
    public bool IsStopped => _isStopped;

    /// <summary>Whether the call has ended, by its End frame or with the connection.</summary>
    public bool IsEnded => Volatile.Read(ref _endStatus) != 0;

    /// <summary>Whether a response would reach no client: the call has ended or its connection was closed.</summary>
    public bool IsUnreachable => IsEnded || Connection.CloseReason is not null;

    public ServerSettings Settings => owner.Settings;

    private Connection Connection => owner.Connection;

    public override int Depth => Ticket?.Depth ?? 0;

    public override ParentCall? AsParent => new ParentCall(Connection.Id, Id);

    public override bool RunsOnBlockedThread => Ticket?.CallbackOrigin is { Latch: not null, IsWaitOver: false };

    /// <summary>Creates the exception of a read or write that waited when the call was ended.</summary>
    public OperationCanceledException CreateStoppedException() => new("The call was cancelled.", CancellationToken);

    public override void GrantCredit(uint bytes) => Connection.Sender.SendCredit(this, bytes);

    /// <summary>Ends the call because a partly sent response can't be completed.</summary>
    public void Fail(Exception exception)
    {
        Status status = StatusMapping.FromHandlerException(exception, Settings.HasDetailedErrors, Settings.Side);
        Stop(status.StatusCode == StatusCode.OK ? StatusMapping.MessageBrokenOff : status);
    }

    /// <summary>
    /// Ends the call from outside its method. The method's token fires. Returns false if the call has ended before.
    /// </summary>
    public bool Stop(in Status status)
    {
        if (IsEnded)
        {
            return false;
        }

        _isStopped = true; // Set before _endStatus: a thread that sees the call ended must also see the cause.
        return EndOnce(new StatusTrailer(status), isStop: true);
    }

    protected override void Execute(PendingUserCode userCode)
    {
        if ((userCode & PendingUserCode.Start) != 0)
        {
            if (Ticket?.CallbackOrigin is { IsGivenUp: true })
            {
                Stop(StatusMapping.CallerGone);
            }

            MethodInvoker.StartOrRequeue(this, _handler!);
        }

        if ((userCode & PendingUserCode.WakeReader) != 0)
        {
            Requests!.Inbound.CompleteWait();
        }
    }

    // A callback of a call for which a thread blocks runs on that thread.
    protected override bool TryRunOnBlockedThread() => Ticket?.CallbackOrigin?.TryRunOnBlockedThread(this) == true;

    /// <summary>
    /// Makes a call wait again whose method is about to start, if the client leaves responses unread. Returns true if
    /// the call waits or was refused.
    /// </summary>
    public bool TryRequeue() => owner.TryRequeue(this, _request.Length);

    /// <summary>Counts the method. Called on the thread that is about to run it.</summary>
    public void OnMethodBegins()
    {
        _isMethodCounted = true;
        if (owner.TracksRunningCalls)
        {
            owner.SetRunningCall(this);
        }
    }

    /// <summary>Releases the request and takes the method off the counts, because it has ended.</summary>
    public void OnMethodReturned()
    {
        _request.Release();
        Handles?.Close();
        RemoveMethod();
    }

    /// <summary>
    /// Releases the request and the counts of a call whose method will not start, because the call has ended.
    /// </summary>
    public void ReleaseWithoutStart()
    {
        _request.Release();
        Handles?.Close();
        owner.OnCallNeverStarted(this);
    }

    /// <summary>
    /// Marks a one-way call as outliving its connection. Returns false if its method has ended or the call was refused.
    /// </summary>
    public bool TryMarkOrphaned() =>
        Interlocked.CompareExchange(ref _orphanState, OrphanState.Orphaned, OrphanState.Admitted)
            == OrphanState.Admitted;

    /// <summary>
    /// Marks a one-way call whose method has ended. Returns false if the call has outlived its connection.
    /// </summary>
    public bool TryMarkMethodEnded() =>
        Interlocked.Exchange(ref _orphanState, OrphanState.MethodEnded) != OrphanState.Orphaned;

    /// <summary>Refuses a call whose method has not begun and that waits at no gate.</summary>
    public void Refuse(in Status status)
    {
        _isRefused = true;
        EndOnce(new StatusTrailer(status, IsNotProcessed: owner.IsRefusing));
        ReleaseWithoutStart();
    }

    /// <summary>Takes the single request of the call. The method's thread calls this once.</summary>
    /// <exception cref="RpcException">The client sent no request.</exception>
    public ReceivedMessage TakeRequest()
    {
        if (Requests is not null)
        {
            return Requests.TakeSingle();
        }

        ReceivedMessage bytes = _request;
        _request = default;
        return bytes;
    }

    public override void OnDeadline()
    {
        if (Stop(StatusMapping.ServerDeadline))
        {
            DeferredLog.Write(Settings.Logger, log => ShmLog.ServerDeadlineExceeded(log, MethodName));
        }
    }

    /// <summary>Ends a call whose connection was closed.</summary>
    public void EndWithoutResponse()
    {
        _isStopped |= !IsEnded;
        if (TrySetEnded(StatusCode.Unavailable))
        {
            AfterEnd(cancelsMethod: true);
        }
    }

    private void StartDeadline(TimeSpan timeout)
    {
        Deadline = CallDeadline.UtcAfter(timeout, TimeProvider.System);
        var deadline = new DueTime(timeout, OnDeadline);

        // StoreLoad: a thread that ends the call sees the deadline, or IsEnded is true here.
        Interlocked.Exchange(ref _deadline, deadline);
        if (IsEnded)
        {
            deadline.Dispose();
        }
    }

    private void AfterEnd(bool cancelsMethod)
    {
        Volatile.Read(ref _deadline)?.Dispose();
        PartialHead?.Discard(); // The client may never send the rest.
        Requests?.Abort();
        if (cancelsMethod)
        {
            ServerCallCancellation.Fire(ref _cancellation);
            if (Requests?.TryClaimStart(isEnded: true) == true || Ticket?.TryStopWaiting() == true)
            {
                ReleaseWithoutStart();
            }
        }
    }

    // Only the holder of the reader role calls this.
    private void BeginOrWait(int requestBytes)
    {
        if (owner.TryBegin(this, requestBytes, out Status? refusal))
        {
            AddUserCode(PendingUserCode.Start);
        }
        else if (refusal is { } why)
        {
            Refuse(why);
        }
    }

    private void RemoveMethod()
    {
        if (_isMethodCounted)
        {
            _isMethodCounted = false;
            owner.OnMethodEnded(this);
        }
    }
}

/// <summary>
/// Whether a one-way call has outlived its connection. Its bytes are then charged to the budget of the user.
/// </summary>
internal enum OrphanState : byte
{
    /// <summary>
    /// The method has ended or will not start. Also the state of a call that was refused at its start.
    /// </summary>
    MethodEnded,

    /// <summary>The method runs, or will.</summary>
    Admitted,

    /// <summary>The connection was closed before the method was over.</summary>
    Orphaned,
}
