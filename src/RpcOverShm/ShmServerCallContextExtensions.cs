using Grpc.Core;
using RpcOverShm.Servers;

namespace RpcOverShm;

/// <summary>Access to the parts of a call that only RpcOverShm has.</summary>
/// <remarks>Thread-safe.</remarks>
public static class ShmServerCallContextExtensions
{
    /// <summary>Gets the session of the client that made a call.</summary>
    /// <param name="context">
    /// The context of a call, or a context of an interceptor that passes on the <see cref="ServerCallContext.UserState"/>
    /// of the original one.
    /// </param>
    /// <exception cref="ArgumentNullException">The context is null.</exception>
    /// <exception cref="InvalidOperationException">
    /// The call did not come to a <see cref="ShmServer"/>: it came over another transport, or it is a callback of a
    /// server.
    /// </exception>
    public static ShmSession GetShmSession(this ServerCallContext context)
    {
        ArgumentNullException.ThrowIfNull(context);
        return (ShmSession?)ShmServerCallContext.SessionOf(context)
            ?? throw new InvalidOperationException(
                "The call has no session: only a call that a client makes to a ShmServer belongs to one.");
    }
}
