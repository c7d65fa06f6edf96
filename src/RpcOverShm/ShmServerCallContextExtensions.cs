using System.Diagnostics.CodeAnalysis;
using RpcOverShm;
using RpcOverShm.Servers;

namespace Grpc.Core;

/// <summary>Access to the parts of a call that only RpcOverShm has.</summary>
/// <remarks>Thread-safe.</remarks>
public static class ShmServerCallContextExtensions
{
    // The key of a session among the items of a context without a server.
    private static readonly object s_session = new();

    /// <summary>Gets the session of the client that made a call.</summary>
    /// <param name="context">
    /// The context of a call, or a context of an interceptor that passes on the
    /// <see cref="ServerCallContext.UserState"/> of the original one.
    /// </param>
    /// <exception cref="ArgumentNullException">The context is null.</exception>
    /// <exception cref="InvalidOperationException">
    /// The call did not come to a <see cref="ShmServer"/>: it came over another transport, it is a callback of a
    /// server, or a unit test has given its context no session.
    /// </exception>
    public static ShmSession GetShmSession(this ServerCallContext context) =>
        context.TryGetShmSession(out ShmSession? session)
            ? session
            : throw new InvalidOperationException(
                "The call has no session: only a call that a client makes to a ShmServer belongs to one. A unit test "
                + "gives its context one with SetShmSession.");

    /// <summary>Gets the session of the client that made a call, if it came to a <see cref="ShmServer"/>.</summary>
    /// <param name="context">As for <see cref="GetShmSession"/>.</param>
    /// <param name="session">The session; null if there is none.</param>
    /// <exception cref="ArgumentNullException">The context is null.</exception>
    public static bool TryGetShmSession(
        this ServerCallContext context, [NotNullWhen(true)] out ShmSession? session)
    {
        ArgumentNullException.ThrowIfNull(context);
        object? found = null;
        if (ShmServerCallContext.CallOf(context) is { } call)
        {
            found = call.Owner.Session?.View;
        }
        else
        {
            context.UserState.TryGetValue(s_session, out found);
        }

        session = (ShmSession?)found;
        return session is not null;
    }

    /// <summary>
    /// Rents a payload for a response, or for a call to the same client, whose memory the caller writes and the client
    /// may read in place.
    /// </summary>
    /// <param name="context">
    /// As for <see cref="GetShmSession"/>, or a context of another transport, or of a callback: then the peer is the
    /// server.
    /// </param>
    /// <param name="length">The length in bytes; 1 or more.</param>
    /// <returns>
    /// A payload with any content. The server disposes one that a method returns; the caller disposes any other one.
    /// </returns>
    /// <exception cref="ArgumentNullException">The context is null.</exception>
    /// <exception cref="ArgumentOutOfRangeException">The length is less than 1.</exception>
    /// <exception cref="RpcException">
    /// <see cref="StatusCode.ResourceExhausted"/>: the memory of <see cref="ShmLoanOptions"/> is used up, because
    /// payloads were not disposed, here or by the client. The call fails with this status unless its method catches
    /// the exception.
    /// </exception>
    /// <remarks>
    /// The payload is lent to the client if <see cref="ShmLoanOptions.AllowLoanedPayloads"/> says so on both sides.
    /// Otherwise, and for a call over another transport, it is private memory, zeroed, and is copied like any message.
    /// </remarks>
    public static ShmPayload RentPayload(this ServerCallContext context, int length)
    {
        ArgumentNullException.ThrowIfNull(context);
        return ShmPayload.Rent(ShmServerCallContext.CallOf(context)?.Owner.Connection.Loans, length);
    }

    /// <summary>
    /// Gives a context without a server a session, for unit tests of services and interceptors that call
    /// <see cref="GetShmSession"/>.
    /// </summary>
    /// <param name="context">A context that a test has made. It keeps the session in its user state.</param>
    /// <param name="session">The session, which a test has made too.</param>
    /// <exception cref="ArgumentNullException">The context or the session is null.</exception>
    /// <exception cref="InvalidOperationException">The context is that of a call over shared memory.</exception>
    public static void SetShmSession(this ServerCallContext context, ShmSession session)
    {
        ArgumentNullException.ThrowIfNull(context);
        ArgumentNullException.ThrowIfNull(session);
        if (ShmServerCallContext.CallOf(context) is not null)
        {
            throw new InvalidOperationException("The call came over shared memory: its session cannot be replaced.");
        }

        context.UserState[s_session] = session;
    }
}
