using Grpc.Core;
using Microsoft.Extensions.Logging;
using RpcOverShm.Calls;
using RpcOverShm.Diagnostics;

namespace RpcOverShm.Servers;

/// <summary>
/// Runs the calls of one service on its instances: finds or creates an instance, waits until the call may enter it, and
/// releases it. Interceptors run around this class. Thread-safe.
/// </summary>
/// <param name="settings">How the instances live and run.</param>
/// <param name="create">
/// Creates an instance. The arguments are the session, null for none, and the call, null if the instance outlives it.
/// </param>
internal sealed class ServiceActivation<TService>(
    InstanceSettings settings, Func<object?, ServerCallContext?, ActivationResult<TService>> create)
    where TService : class
{
    /// <summary>Runs a method of a call with one response.</summary>
    public async Task<T> RunAsync<T>(ServerCallContext context, Func<TService, Task<T>> run)
    {
        Task<T>? running = null;
        await RunAsync(context, Begin).ConfigureAwait(false);
        return await running!.ConfigureAwait(false);

        Task Begin(TService service)
        {
            running = run(service);
            return running;
        }
    }

    /// <summary>Runs a method.</summary>
    public Task RunAsync(ServerCallContext context, Func<TService, Task> run)
    {
        ServerCall call = ShmServerCallContext.CallOf(context) ?? throw new InvalidOperationException(
            "An interceptor passed a ServerCallContext that does not belong to this call. "
            + "A context that wraps another context must return the UserState of the wrapped context.");
        return settings.Lifetime == InstanceLifetime.Call
            ? RunOnOwnAsync(call, context, run)
            : RunOnSharedAsync(call, run);
    }

    private async Task RunOnOwnAsync(ServerCall call, ServerCallContext context, Func<TService, Task> run)
    {
        Instance instance = Create(call, context);
        try
        {
            await BeginMethod(call, run, instance.Service).ConfigureAwait(false);
        }
        finally
        {
            await instance.ReleaseAsync(call.Settings.Logger).ConfigureAwait(false);
        }
    }

    private async Task RunOnSharedAsync(ServerCall call, Func<TService, Task> run)
    {
        ServiceInstances instances = settings.Lifetime == InstanceLifetime.Session
            ? call.Owner.Session!.Instances
            : call.Settings.Instances;
        if (!instances.TryBeginUse(this, out ServiceInstance? known))
        {
            throw new RpcException(settings.Lifetime == InstanceLifetime.Session
                ? StatusMapping.SessionEnded
                : StatusMapping.ServerStopping);
        }

        GateTicket? ticket = null;
        try
        {
            if (settings.MaxCalls is not null && call.RunningCall is null)
            {
                // Set in this async method, so that the AsyncLocal flows to the user's method and not back to the
                // caller.
                call.Owner.SetRunningCall(call);
            }

            ServiceInstance instance = known ?? await CreateOrWaitAsync(instances, call).ConfigureAwait(false);
            if (instance.Gate is { } gate)
            {
                RunningCall running = call.RunningCall!;
                ticket = new GateTicket(call.Owner, running.FindAbove(gate)) { Gate = gate };
                running.InstanceTicket = ticket;
                await EnterAsync(gate, ticket, call).ConfigureAwait(false);
            }

            await BeginMethod(call, run, ((Instance)instance).Service).ConfigureAwait(false);
        }
        finally
        {
            ticket?.Gate!.End(ticket, call.RunningCall!);
            instances.EndUse();
        }
    }

    // A method of its own, so that a call whose instance exists allocates neither a closure nor a cancellation token.
    private ValueTask<ServiceInstance> CreateOrWaitAsync(ServiceInstances instances, ServerCall call) =>
        instances.GetAsync(this, () => Create(call, context: null), call.CancellationToken);

    private async Task EnterAsync(CallGate gate, GateTicket ticket, ServerCall call)
    {
        if (gate.TryEnter(ticket))
        {
            return;
        }

        GateResult result = gate.EnterOrWait(ticket, settings.MaxQueued);
        if (result == GateResult.Full)
        {
            LimitEvents.Reached(
                call.Settings.Logger,
                InstanceSettings.QueuedOption,
                settings.MaxQueued,
                $"{call.Owner.PeerName}: a call of {call.MethodName} was refused.");
            throw new RpcException(StatusMapping.TooManyWaitingForInstance(
                InstanceSettings.CallsOption,
                settings.MaxCalls!.Value,
                InstanceSettings.QueuedOption,
                settings.MaxQueued));
        }

        if (result == GateResult.Waiting)
        {
            await ticket.Granted.WaitAsync(call.CancellationToken).ConfigureAwait(false);
        }
    }

    private static Task BeginMethod(ServerCall call, Func<TService, Task> run, TService service)
    {
        Task running = MethodInvoker.ThrowIfNull(run(service));
        if (call.Ticket is { } ticket)
        {
            ticket.LeaveOrder();
        }

        return running;
    }

    private Instance Create(ServerCall call, ServerCallContext? context)
    {
        object? session = settings.Lifetime == InstanceLifetime.Server ? null : call.Owner.Session?.View;
        ActivationResult<TService> made = create(session, context);
        if (made.Service is not null)
        {
            CallGate? gate = settings.MaxCalls is { } limit ? new CallGate(limit, isOfInstance: true) : null;
            return new Instance(made.Service, made.Release, gate);
        }

        ILogger logger = call.Settings.Logger;
        Exception failure = made.Failure
            ?? new InvalidOperationException("The function returned null in place of a service.");
        ShmLog.ActivationFailed(logger, typeof(TService).Name, call.MethodName, failure);

        // Release what the function had created before it failed. The release is not awaited: the call fails at once.
        _ = new Instance(service: null, made.Release, gate: null).ReleaseAsync(logger).AsTask();
        throw new RpcException(StatusMapping.NotActivated(failure, call.Settings.HasDetailedErrors));
    }

    private sealed class Instance(TService? service, Func<ValueTask>? release, CallGate? gate)
        : ServiceInstance(gate)
    {
        public TService Service => service!;

        protected override string TypeName => typeof(TService).Name;

        protected override ValueTask ReleaseAsync()
        {
            if (release is not null)
            {
                return release();
            }

            switch (service)
            {
                case IAsyncDisposable one:
                    return one.DisposeAsync();
                case IDisposable one:
                    one.Dispose();
                    break;
            }

            return ValueTask.CompletedTask;
        }
    }
}

/// <summary>The result of an attempt to create an instance of a service.</summary>
/// <param name="Service">The instance; null if there is none.</param>
/// <param name="Release">Releases what was made; null to dispose the instance.</param>
/// <param name="Failure">What the function has thrown.</param>
internal readonly record struct ActivationResult<TService>(
    TService? Service, Func<ValueTask>? Release, Exception? Failure = null)
    where TService : class;
