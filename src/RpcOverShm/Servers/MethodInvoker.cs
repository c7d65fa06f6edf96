using Grpc.Core;
using RpcOverShm.Calls;
using RpcOverShm.Diagnostics;

namespace RpcOverShm.Servers;

/// <summary>
/// A run of a method: what it returns or throws, at once or later, becomes the end of its call. Nothing that users'
/// code throws leaves here, whatever it throws where it is asked what it means. Holds nothing of a call.
/// </summary>
internal static class MethodInvoker
{
    /// <summary>Runs the method of a call, unless the call has ended before.</summary>
    public static void Begin(ServerCall call, MethodHandler handler)
    {
        var context = new ShmServerCallContext(call);
        try
        {
            Task running = call.IsEnded ? Task.CompletedTask : handler.InvokeAsync(call, context);
            if (!running.IsCompletedSuccessfully)
            {
                GoOn(call, running, context);
                return;
            }

            call.EndWith(context.Status, context.SetTrailers);
        }
        catch (Exception exception)
        {
            EndWith(exception, call, context);
        }

        call.OnMethodReturned();
    }

    private static async void GoOn(ServerCall call, Task running, ShmServerCallContext context)
    {
        try
        {
            await running.ConfigureAwait(false);
            call.EndWith(context.Status, context.SetTrailers);
        }
        catch (Exception exception)
        {
            EndWith(exception, call, context);
        }

        call.OnMethodReturned();
    }

    private static void EndWith(Exception exception, ServerCall call, ShmServerCallContext context)
    {
        Status status = StatusMapping.FromHandlerException(exception, call.Settings.HasDetailedErrors);
        if (exception is not RpcException)
        {
            // The exception of a method's own call names a limit of that call's channel.
            MessageTooLargeException.LogIfSo(call.Settings.Logger, call.MethodName, "server", status);
        }

        ShmLog.MethodFailed(call.Settings.Logger, call.MethodName, exception, status.StatusCode, call.IsEnded);
        try
        {
            call.EndWith(status, ResponseFrames.TrailersOf(exception, context.SetTrailers));
        }
        catch (Exception)
        {
            // The trailers are the method's, and a task that it has left behind may still change them: the client is
            // told without them.
            call.EndWith(status, trailers: null);
        }
    }
}
