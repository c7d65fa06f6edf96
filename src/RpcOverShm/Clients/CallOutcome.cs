using Grpc.Core;
using RpcOverShm.Calls;

namespace RpcOverShm.Clients;

/// <summary>
/// The end of a call, as the server reported it or this side determined it. Calls that succeed without trailers share
/// one object.
/// </summary>
internal sealed class CallOutcome
{
    private readonly Metadata? _trailers;
    private readonly CancellationToken _cancelledBy;
    private readonly bool _isLocal;

    private CallOutcome(in Status status, Metadata? trailers, bool isLocal, CancellationToken cancelledBy)
    {
        Status = status;
        _trailers = trailers;
        _isLocal = isLocal;
        _cancelledBy = cancelledBy;
    }

    /// <summary>OK from the server, without trailers.</summary>
    public static CallOutcome Success { get; } = FromServer(Status.DefaultSuccess, Metadata.Empty);

    /// <summary>The outcome of a call that its user disposed before it ended.</summary>
    public static CallOutcome Disposed { get; } = Local(StatusMapping.Disposed);

    /// <summary>The outcome of a call that could not be given the reason why its connection has closed.</summary>
    public static CallOutcome EndFailed { get; } = Local(
        new Status(
            StatusCode.Internal,
            "The connection is closed. This process could not tell the call why; its log has event 104."));

    public Status Status { get; }

    public bool IsOk => Status.StatusCode == StatusCode.OK;

    /// <summary>
    /// Whether the call was cancelled on this side or exceeded its deadline, whichever side reports the deadline.
    /// </summary>
    public bool IsGivenUp => Status.StatusCode == StatusCode.DeadlineExceeded
        || (_isLocal && Status.StatusCode == StatusCode.Cancelled);

    /// <summary>The trailers from the server; throws if the call ended without an End frame of the server.</summary>
    public Metadata Trailers => _trailers
        ?? throw new InvalidOperationException("Can't get the call trailers because the call ended without them.");

    /// <summary>The server's trailers; null if the call ended without an End frame.</summary>
    public Metadata? TrailersOrNull => _trailers;

    /// <summary>Creates the outcome that the server reported.</summary>
    public static CallOutcome FromServer(in Status status, Metadata? trailers) =>
        new(status, trailers ?? Metadata.Empty, isLocal: false, CancellationToken.None);

    /// <summary>Creates an outcome of this side, with the user's token if that cancelled the call.</summary>
    public static CallOutcome Local(in Status status, CancellationToken cancelledBy = default) =>
        new(status, trailers: null, isLocal: true, cancelledBy);

    /// <summary>Returns this outcome with another status, for a response that is missing or unreadable.</summary>
    public CallOutcome With(in Status status) => new(status, _trailers, _isLocal, _cancelledBy);

    /// <summary>Returns this outcome with the number of messages that were skipped, unless that is 0.</summary>
    public CallOutcome WithSkipped(long messages) => messages == 0
        ? this
        : new(Status, [.. _trailers ?? [], SkippedTrailer.Of(messages)], _isLocal, _cancelledBy);

    /// <summary>Returns the exception that waiters for the call receive.</summary>
    /// <param name="isCancellationThrown">
    /// Whether a call that this side cancelled, or whose deadline passed, throws
    /// <see cref="OperationCanceledException"/>.
    /// </param>
    public Exception ToException(bool isCancellationThrown)
    {
        var exception = new RpcException(Status, _trailers ?? Metadata.Empty);
        return isCancellationThrown && IsGivenUp
            ? new OperationCanceledException(exception.Message, exception, _cancelledBy)
            : exception;
    }
}
