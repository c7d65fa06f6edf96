using Grpc.Core;

namespace RpcOverShm.Clients;

/// <summary>
/// How a call ended: set once, by whoever comes first, and visible before any task that users await is completed. Any
/// thread may try and look.
/// </summary>
internal struct CallOutcome
{
    private const int Running = 0;
    private const int Settling = 1;
    private const int Settled = 2;

    private int _state;
    private Status _status;
    private Metadata? _trailers;

    public readonly bool IsSettled => Volatile.Read(in _state) == Settled;

    /// <summary>The status; thrown for while the call goes on.</summary>
    public readonly Status Status => IsSettled
        ? _status
        : throw new InvalidOperationException("Unable to get the status because the call is not complete.");

    /// <summary>
    /// The server's trailers; thrown for while the call goes on, and where it ended without an answer of the server.
    /// </summary>
    public readonly Metadata Trailers => IsSettled
        ? _trailers
            ?? throw new InvalidOperationException("Can't get the call trailers because the call ended without them.")
        : throw new InvalidOperationException(
            "Can't get the call trailers because the call has not completed successfully.");

    /// <summary>What a finished call throws at whoever waits for it.</summary>
    public readonly RpcException ToException() => new(Status, _trailers ?? Metadata.Empty);

    /// <summary>
    /// Settles the outcome, unless it is settled. The trailers are null where the server sent none of its own.
    /// </summary>
    public bool TrySettle(in Status status, Metadata? trailers)
    {
        if (Interlocked.CompareExchange(ref _state, Settling, Running) != Running)
        {
            return false;
        }

        _status = status;
        _trailers = trailers;

        // A full fence: whoever settles then looks whether the call is on a connection, and
        // whoever starts it looks here.
        Interlocked.Exchange(ref _state, Settled);
        return true;
    }
}
