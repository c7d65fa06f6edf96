using Grpc.Core;
using RpcOverShm.Calls;
using RpcOverShm.Diagnostics;
using RpcOverShm.Scheduling;

namespace RpcOverShm.Servers;

/// <summary>
/// Runs methods. The result or exception of a method, at once or later, ends its call. No exception of user code leaves
/// this class, not even one thrown by the Message or ToString of the method's exception. Stateless.
/// </summary>
internal static class MethodInvoker
{
    private const uint GoldenRatio = 2_654_435_769; // of 2^32
    private const int SampleShift = 26;

    /// <summary>
    /// Runs the method of a call. If the service is ordered, also runs those of the calls that can then start. Does
    /// nothing if the call must wait again.
    /// </summary>
    public static void StartOrRequeue(ServerCall call, MethodHandler handler)
    {
        if (call.TryRequeue())
        {
            return;
        }

        if (call.Ticket is { OrderGate: not null } ticket)
        {
            StartInOrder(ticket);
            return;
        }

        Run(call, handler);
    }

    /// <summary>Runs the method of a call, unless the call has ended.</summary>
    public static void Run(ServerCall call, MethodHandler handler)
    {
        LatencyCounts? latencies = call.Owner.Latencies is { } counts && IsSampled(call) ? counts : null;
        if (latencies is not null || Telemetry.IsServerWatched)
        {
            RunObserved(call, handler, latencies);
            return;
        }

        Run(call, handler, observation: null);
    }

    /// <summary>Returns the task of a method; throws if the method returned null.</summary>
    public static T ThrowIfNull<T>(T? task)
        where T : Task =>
        task ?? throw new InvalidOperationException("The method returned null in place of a task.");

    // Runs a method up to its first await, and then the methods of the next calls in order.
    private static void StartInOrder(CallTicket first)
    {
        ThreadTraits thread = ThreadTraits.OfThisThread();
        CallTicket? next = first;
        while (next is { } ticket)
        {
            ticket.StartingThread = Environment.CurrentManagedThreadId;
            Run(ticket.Call, ticket.Call.Handler);
            AmbientContext.RestoreClean(thread);
            ticket.StartingThread = 0;
            (next, ticket.NextInOrder) = (ticket.NextInOrder, null);
            if (next?.Call.TryRequeue() == true)
            {
                return;
            }
        }
    }

    // One call in 64, whatever its slot: the multiplication spreads slots and generations over the top bits (Fibonacci
    // hashing), so that nothing needs to be counted.
    private static bool IsSampled(ServerCall call) => unchecked(call.Id.Value * GoldenRatio) >> SampleShift == 0;

    private static void RunObserved(ServerCall call, MethodHandler handler, LatencyCounts? latencies)
    {
        var observation = CallObservation.OfServer(
            call.MethodName, call.Settings.Address, call.RequestHeaders, latencies);
        Run(call, handler, observation);
        observation.Leave();
    }

    private static void Run(ServerCall call, MethodHandler handler, CallObservation? observation)
    {
        var context = new ShmServerCallContext(call);
        try
        {
            call.OnMethodBegins();
            Task running = call.IsEnded ? Task.CompletedTask : handler.InvokeAsync(call, context);
            if (!running.IsCompletedSuccessfully)
            {
                EndWhenCompleted(call, running, context, observation);
                return;
            }

            call.EndWith(context.Status, context.TrailersIfSet);
        }
        catch (Exception exception)
        {
            EndWith(exception, call, context);
        }

        observation?.End(call.EndStatusCode);
        call.OnMethodReturned();
    }

    private static async void EndWhenCompleted(
        ServerCall call, Task running, ShmServerCallContext context, CallObservation? observation)
    {
        try
        {
            await running.ConfigureAwait(false);
            call.EndWith(context.Status, context.TrailersIfSet);
        }
        catch (Exception exception)
        {
            EndWith(exception, call, context);
        }

        observation?.End(call.EndStatusCode);
        call.OnMethodReturned();
    }

    private static void EndWith(Exception exception, ServerCall call, ShmServerCallContext context)
    {
        Status status = StatusMapping.FromHandlerException(
            exception, call.Settings.HasDetailedErrors, call.Settings.Side);
        if (exception is not RpcException)
        {
            // An RpcException may come from a nested call; its limit was that of another channel, which has reported
            // it.
            MessageTooLargeException.LogIfSo(call.Settings.Logger, call.MethodName, call.Settings.Side, status);
        }

        ShmLog.MethodFailed(call.Settings.Logger, call.MethodName, exception, status.StatusCode, call.IsEnded);
        try
        {
            call.EndWith(status, ServerCall.CombineTrailers(exception, context.TrailersIfSet), isLogged: true);
        }
        catch (Exception)
        {
            // A task that the method left behind may still change its trailers. The call then ends without them.
            call.EndWith(status, trailers: null, isLogged: true);
        }
    }
}
