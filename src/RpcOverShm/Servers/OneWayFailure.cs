using Grpc.Core;
using Microsoft.Extensions.Logging;
using RpcOverShm.Diagnostics;
using RpcOverShm.Sending;

namespace RpcOverShm.Servers;

/// <summary>
/// A one-way call that has failed or was refused. Its client gets no answer, so only this side can tell.
/// </summary>
/// <param name="Method">The full name of the method, with the leading slash, as the client named it.</param>
/// <param name="Status">The status that the client of another call would have got.</param>
/// <param name="Exception">The exception of the method; null if the method threw none.</param>
/// <param name="Owner">The connection of the client.</param>
internal sealed record OneWayFailure(string Method, Status Status, Exception? Exception, ServerConnection Owner)
{
    // Of the names in log entries, which a client chooses.
    private const int LongestName = 200;

    /// <summary>
    /// Counts and logs a failure, and has the handlers of the user run on the thread pool. The call holds its credit
    /// until they have returned, so no client causes more of them than may be pending.
    /// </summary>
    public static void Report(ServerCall call, OneWayCharge charge, in Status status, Exception? exception)
    {
        OneWayFailures.Count(call.EndedWith.ToString()); // the code on the wire: a method may make up others
        var failure = new OneWayFailure(call.MethodName, status, exception, call.Owner);
        ServerSettings settings = call.Settings;
        if (exception is null)
        {
            // An exception has an entry of its own.
            DeferredLog.Write(settings.Logger, failure.Log);
        }

        if (settings.OneWayFailed is { HasHandlers: true } observer)
        {
            observer.Add(failure, charge);
        }
    }

    private void Log(ILogger logger) => ShmLog.OneWayCallFailed(
        logger, PeerText.Escape(Method, LongestName), Owner.PeerName, Status.StatusCode, Status.Detail);
}
