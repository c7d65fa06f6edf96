using System.Diagnostics;
using System.Runtime.CompilerServices;
using Grpc.Core;
using RpcOverShm.Calls;
using RpcOverShm.Diagnostics;
using RpcOverShm.Scheduling;

namespace RpcOverShm.Clients;

/// <content>
/// The other modes of the invoker: unary calls in a batch, and one-way calls. A one-way call has no span of its own; if
/// there are listeners, it carries the trace context of the current span.
/// </content>
internal sealed partial class ShmCallInvoker
{
    private CallBatch? _batch; // null unless this invoker records
    private CallMode _mode;
    private Action<IMethod, Status>? _onFailed; // of one-way calls that were sent

    private enum CallMode : byte
    {
        Plain,
        Batch,
        OneWay,
    }

    /// <summary>
    /// Makes an awaited call and blocks for its response, also on a thread with a synchronization context.
    /// </summary>
    public static TResponse BlockOnAsyncCall<TRequest, TResponse>(
        CallInvoker invoker, Method<TRequest, TResponse> method, string? host, CallOptions options, TRequest request)
        where TRequest : class
        where TResponse : class
    {
        AsyncUnaryCall<TResponse> Make() => invoker.AsyncUnaryCall(method, host, options, request);

        // The user's credentials may continue on this thread's context. That would deadlock while the thread blocks.
        bool hasContext = SynchronizationContext.Current is not null || TaskScheduler.Current != TaskScheduler.Default;
        using AsyncUnaryCall<TResponse> call = hasContext
            ? WaitFor(Task.Run(Make).ConfigureAwait(false).GetAwaiter())
            : Make();
        return call.ResponseAsync.GetAwaiter().GetResult();
    }

    /// <summary>Returns an invoker with the same methods that records unary calls in a batch.</summary>
    public ShmCallInvoker InBatch(CallBatch batch)
    {
        var made = (ShmCallInvoker)MemberwiseClone();
        made._mode = CallMode.Batch;
        made._batch = batch;
        return made;
    }

    /// <summary>
    /// Returns an invoker with the same methods whose unary calls are one-way. The handler is called for each call that
    /// fails after it was sent.
    /// </summary>
    public ShmCallInvoker AsOneWay(Action<IMethod, Status>? onFailed)
    {
        var made = (ShmCallInvoker)MemberwiseClone();
        made._mode = CallMode.OneWay;
        made._onFailed = onFailed;
        return made;
    }

    // A blocking call made by a method whose service instance serves other calls until this one returns.
    private TResponse BlockYielding<TRequest, TResponse>(
        RunningCall parent, Method<TRequest, TResponse> method, string? host, CallOptions options, TRequest request)
        where TRequest : class
        where TResponse : class
    {
        parent.YieldInstance();
        try
        {
            return BlockPlain(method, host, options, request);
        }
        finally
        {
            // An interrupt must not let the method continue before it has entered its instance again.
            UninterruptibleLock.Run(parent.ReenterInstanceAsync(), static taken =>
            {
                taken.GetAwaiter().GetResult();
                return true;
            });
        }
    }

    private static AsyncUnaryCall<TResponse> WaitFor<TResponse>(
        ConfiguredTaskAwaitable<AsyncUnaryCall<TResponse>>.ConfiguredTaskAwaiter making)
    {
        try
        {
            return making.GetResult();
        }
        catch (ThreadInterruptedException)
        {
            // The interrupted caller does not wait for the call any longer, so it is disposed once it exists. If the
            // creation throws, nobody is left to receive that. Not on the context of this thread, which may end now.
            making.UnsafeOnCompleted(() =>
            {
                try
                {
                    making.GetResult().Dispose();
                }
                catch (Exception)
                {
                    // The interrupt is what the caller was told.
                }
            });
            throw;
        }
    }

    private AsyncUnaryCall<TResponse> UnaryInMode<TRequest, TResponse>(
        Method<TRequest, TResponse> method, string? host, CallOptions options, TRequest request)
        where TRequest : class
        where TResponse : class
    {
        ThrowIfHandles(method, options);
        ClientMethod<TRequest, TResponse> bound = Bind(method);
        if (_mode == CallMode.OneWay)
        {
            SingleResponseCall<TResponse> oneWay = CreateOneWayCall(bound, latch: null);
            _ = StartAsync(oneWay, bound, host, WithContext(options), request, isObservable: false);
            return CallPresentation.Unary(oneWay, oneWay.ResponseAsync);
        }

        var call = new SingleResponseCall<TResponse>(bound, latch: null);
        if (!_batch!.TryAdd(call, out bool isFirst))
        {
            throw RecordFailedStart(method, new InvalidOperationException(
                "The batch was sent or disposed; no more calls can be recorded."));
        }

        try
        {
            _batch.OnStarted(call, StartAsync(call, bound, host, options, request, isDeferred: !isFirst));
        }
        catch
        {
            call.Dispose(); // It may have started, and its user gets nothing to dispose.
            _batch.Remove(call); // The next call may then be the first, which is published at once.
            throw;
        }

        return CallPresentation.Unary(call, call.ResponseAsync);
    }

    private TResponse BlockInMode<TRequest, TResponse>(
        Method<TRequest, TResponse> method, string? host, CallOptions options, TRequest request)
        where TRequest : class
        where TResponse : class
    {
        if (_mode == CallMode.Batch)
        {
            throw RecordFailedStart(method, NotInBatch("A blocking call cannot be recorded"));
        }

        ThrowIfHandles(method, options);
        if (_starter.NeedsCredentials(options))
        {
            return BlockOnAsyncCall(this, method, host, options, request);
        }

        ClientMethod<TRequest, TResponse> bound = Bind(method);
        SingleResponseCall<TResponse> call = CreateOneWayCall(bound, AutoResetLatch.OfThisThread);
        return bound.Run(host, WithContext(options), request, bound.Inspect(options), call);
    }

    private SingleResponseCall<TResponse> CreateOneWayCall<TResponse>(
        ResponseMethod<TResponse> method, AutoResetLatch? latch)
        where TResponse : class => new(method, latch) { IsOneWay = true, OnFailed = _onFailed };

    private static CallOptions WithContext(in CallOptions options) =>
        Telemetry.ClientSource.HasListeners() ? TraceContext.Inject(Activity.Current, options) : options;

    /// <exception cref="InvalidOperationException">This invoker makes no calls with a stream.</exception>
    private void ThrowUnlessPlain(IMethod method)
    {
        if (_mode != CallMode.Plain)
        {
            throw RecordFailedStart(method, _mode == CallMode.Batch
                ? NotInBatch("A stream cannot be recorded")
                : new InvalidOperationException(
                    $"{method.FullName} has a stream. Only unary methods can be called one-way; call others through "
                    + "the channel itself."));
        }
    }

    /// <exception cref="InvalidOperationException">The options have handles.</exception>
    private void ThrowIfHandles(IMethod method, in CallOptions options)
    {
        if (options.WriteOptions is CarriedHandles)
        {
            throw RecordFailedStart(method, new InvalidOperationException(
                "Handles go with no one-way call and with no call of a batch; make others through the channel "
                + "itself."));
        }
    }

    private static InvalidOperationException NotInBatch(string why) =>
        new($"{why}. A batch takes asynchronous unary calls only; make others through the channel itself.");

    /// <summary>Records the failure of a call that could not even be made, if somebody listens; returns it.</summary>
    private Exception RecordFailedStart(IMethod method, Exception failure)
    {
        if (_mode != CallMode.OneWay && Telemetry.IsClientWatched)
        {
            CallObservation.OfFailure(method.FullName, _settings.Authority, failure);
        }

        return failure;
    }
}
