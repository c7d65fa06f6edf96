using Grpc.Core;
using Microsoft.Extensions.Logging;
using RpcOverShm.Diagnostics;
using RpcOverShm.Servers;

namespace RpcOverShm;

/// <summary>
/// A one-way call that has failed or was refused where it was to be served: its caller hears nothing of it.
/// </summary>
/// <remarks>
/// The handlers of <see cref="ShmServer.OneWayCallFailed"/> and <see cref="ShmChannel.OneWayCallFailed"/> receive it.
/// Immutable.
/// </remarks>
public sealed class ShmOneWayCallFailure
{
    internal ShmOneWayCallFailure(OneWayFailure failure)
    {
        Method = failure.Method;
        Status = failure.Status;
        Exception = failure.Exception;
        Peer = failure.Owner.PeerName;
        Session = failure.Owner.Session?.View as ShmSession;
    }

    /// <summary>Gets the full name of the method, such as <c>/package.Log/Write</c>.</summary>
    /// <remarks>
    /// The caller chooses it: there may be no such method. Empty if the call was refused before its name was read.
    /// </remarks>
    public string Method { get; }

    /// <summary>Gets the name of the caller, as <see cref="ServerCallContext.Peer"/> has it.</summary>
    public string Peer { get; }

    /// <summary>Gets the session of the caller; null if the caller is a server that called back.</summary>
    public ShmSession? Session { get; }

    /// <summary>Gets the status that the caller of an ordinary call would have got.</summary>
    /// <remarks>
    /// <see cref="StatusCode.DeadlineExceeded"/> after the deadline of the call, <see cref="StatusCode.Unavailable"/>
    /// if the server stopped before the method had ended, <see cref="StatusCode.ResourceExhausted"/> if a limit has
    /// refused the call, and else that of the method.
    /// </remarks>
    public Status Status { get; }

    /// <summary>Gets the exception of the method; null if it threw none or never ran.</summary>
    public Exception? Exception { get; }
}

/// <summary>Hands the failures of one-way calls to the handlers of an event.</summary>
internal sealed class OneWayHandlers(
    object sender, Func<EventHandler<ShmOneWayCallFailure>?> handlers, ILogger logger) : OneWayObserver
{
    public override bool HasHandlers => handlers() is not null;

    protected override void OnFailed(OneWayFailure failure)
    {
        try
        {
            handlers()?.Invoke(sender, new ShmOneWayCallFailure(failure));
        }
        catch (Exception exception)
        {
            ShmLog.OneWayHandlerThrew(logger, failure.Method, exception);
        }
    }
}
