using Grpc.Core;
using RpcOverShm.Calls;

namespace RpcOverShm.Clients;

/// <summary>
/// How a call ended: as the server said, or as this side found. One object for all calls that end well.
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

    /// <summary>The server's OK without trailers.</summary>
    public static CallOutcome Success { get; } = FromServer(Status.DefaultSuccess, Metadata.Empty);

    /// <summary>The user has disposed the call before it had ended.</summary>
    public static CallOutcome Disposed { get; } = Local(StatusMapping.Disposed);

    public Status Status { get; }

    public bool IsOk => Status.StatusCode == StatusCode.OK;

    /// <summary>The server's trailers; thrown for where the call ended without an answer of the server.</summary>
    public Metadata Trailers => _trailers
        ?? throw new InvalidOperationException("Can't get the call trailers because the call ended without them.");

    /// <summary>The server's trailers; null where the call ended without an answer of the server.</summary>
    public Metadata? KnownTrailers => _trailers;

    /// <summary>The server has ended the call so.</summary>
    public static CallOutcome FromServer(in Status status, Metadata? trailers) =>
        new(status, trailers ?? Metadata.Empty, isLocal: false, CancellationToken.None);

    /// <summary>This side has ended the call so.</summary>
    /// <param name="status">How.</param>
    /// <param name="cancelledBy">The user's token that did it; none otherwise.</param>
    public static CallOutcome Local(in Status status, CancellationToken cancelledBy = default) =>
        new(status, trailers: null, isLocal: true, cancelledBy);

    /// <summary>The same end with another status: the server's message could not be used.</summary>
    public CallOutcome With(in Status status) => new(status, _trailers, _isLocal, _cancelledBy);

    /// <summary>What the end throws at whoever waits for the call.</summary>
    /// <param name="isCancellationThrown">
    /// Whether a call that this side has given up, or whose time is up, is a cancelled operation.
    /// </param>
    public Exception ToException(bool isCancellationThrown)
    {
        var exception = new RpcException(Status, _trailers ?? Metadata.Empty);

        // Whether the server's clock or this one's was the first to say that the time is up is all the same.
        bool isGivenUp = Status.StatusCode == StatusCode.DeadlineExceeded
            || (_isLocal && Status.StatusCode == StatusCode.Cancelled);
        return isCancellationThrown && isGivenUp
            ? new OperationCanceledException(exception.Message, exception, _cancelledBy)
            : exception;
    }
}
