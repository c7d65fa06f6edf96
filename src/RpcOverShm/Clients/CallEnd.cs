using Grpc.Core;

namespace RpcOverShm.Clients;

/// <summary>
/// How a call ended: as the server said, or as this side found. One object for all calls that end well.
/// </summary>
internal sealed class CallEnd
{
    private readonly Metadata? _trailers;

    private CallEnd(in Status status, Metadata? trailers)
    {
        Status = status;
        _trailers = trailers;
    }

    /// <summary>The server's OK without trailers.</summary>
    public static CallEnd Success { get; } = new(Status.DefaultSuccess, Metadata.Empty);

    public Status Status { get; }

    public bool IsOk => Status.StatusCode == StatusCode.OK;

    /// <summary>The server's trailers; thrown for where the call ended without an answer of the server.</summary>
    public Metadata Trailers => _trailers
        ?? throw new InvalidOperationException("Can't get the call trailers because the call ended without them.");

    /// <summary>The server has ended the call so.</summary>
    public static CallEnd FromServer(in Status status, Metadata? trailers) => new(status, trailers ?? Metadata.Empty);

    /// <summary>This side has ended the call so.</summary>
    public static CallEnd Local(in Status status) => new(status, trailers: null);

    /// <summary>The same end with another status: the server's message could not be used.</summary>
    public CallEnd With(in Status status) => new(status, _trailers);

    /// <summary>What the end throws at whoever waits for the call.</summary>
    public RpcException ToException() => new(Status, _trailers ?? Metadata.Empty);
}
