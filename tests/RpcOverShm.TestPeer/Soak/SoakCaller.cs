using Grpc.Core;
using RpcOverShm.Testing.Soak;

namespace RpcOverShm.TestPeer.Soak;

/// <summary>
/// Makes one call or callback of any shape by its plan, checks every answer, and writes start and end to the ledger.
/// </summary>
internal sealed class SoakCaller(Ledger ledger, SoakJournal journal)
{
    /// <summary>Runs a call to its end; returns its status. Does not throw.</summary>
    public Task<StatusCode> RunAsync(SoakPlan plan, SoakChannel channel, bool isThread) => RecordAsync(
        plan,
        plan.Shape == SoakShape.Blocking && !isThread ? SoakShape.Unary : plan.Shape,
        () => channel.IsClosing,
        shape => shape switch
        {
            SoakShape.Bytes => BytesAsync(plan, channel),
            SoakShape.OneWay => OneWayAsync(plan, channel.OneWay, isThread),
            _ => CallAsync(shape, plan, channel.Invoker),
        });

    /// <summary>Runs a callback to its end, blocking if its shape does; returns its status. Does not throw.</summary>
    public Task<StatusCode> CallBackAsync(SoakPlan plan, CallInvoker session, Func<bool> isClosing) =>
        RecordAsync(plan, plan.Shape, isClosing, shape => CallAsync(shape, plan, session));

    /// <summary>Runs a batch of calls with these plans to its end.</summary>
    public async Task<StatusCode> RunBatchAsync(IReadOnlyList<SoakPlan> plans, SoakChannel channel)
    {
        ShmCallBatch batch;
        try
        {
            batch = channel.CreateBatch();
        }
        catch (ObjectDisposedException) when (channel.IsClosing)
        {
            return StatusCode.Cancelled;
        }

        using (batch)
        {
            Task<StatusCode>[] calls =
            [
                .. plans.Select(plan => RecordAsync(
                    plan, SoakShape.Batch, () => channel.IsClosing, _ => UnaryAsync(plan, batch.CallInvoker))),
            ];
            await batch.SendAsync();
            StatusCode[] statuses = await Task.WhenAll(calls);
            return statuses[^1];
        }
    }

    private async Task<StatusCode> RecordAsync(
        SoakPlan plan, SoakShape shape, Func<bool> isClosing, Func<SoakShape, Task> call)
    {
        ledger.Append(LedgerEvent.Asked, plan.CallId, shape);
        Exception? problem = null;
        StatusCode status;
        try
        {
            await call(shape);
            status = StatusCode.OK;
        }
        catch (Exception exception)
        {
            status = StatusOf(exception, plan, isClosing);
            problem = exception;
        }

        try
        {
            if (!Allows(plan, shape, isClosing, status))
            {
                journal.Violation($"{shape} ended {status}; {plan}; {problem}");
            }
        }
        catch (OutOfMemoryException)
        {
            journal.OutOfMemory();
        }
        finally
        {
            ledger.Append(LedgerEvent.Ended, plan.CallId, shape, status);
        }

        return status;
    }

    private static StatusCode StatusOf(Exception exception, SoakPlan plan, Func<bool> isClosing) => exception switch
    {
        RpcException rpc => rpc.StatusCode,
        SoakViolationException => StatusCode.DataLoss,
        ObjectDisposedException when isClosing() || plan.Interruption == SoakInterruption.Dispose =>
            StatusCode.Cancelled,
        OperationCanceledException when plan.Interruption != SoakInterruption.None => StatusCode.Cancelled,
        ShmTransportException
        {
            Error: ShmTransportError.NotListening or ShmTransportError.TimedOut or ShmTransportError.Refused
                or ShmTransportError.SystemError,
        } => StatusCode.Unavailable,
        IOException => StatusCode.Unavailable,
        _ => StatusCode.Unknown,
    };

    // Unavailable is allowed here; the supervisor knows whether the server was away.
    private static bool Allows(SoakPlan plan, SoakShape shape, Func<bool> isClosing, StatusCode status) => status switch
    {
        StatusCode.OK => shape is SoakShape.Bytes or SoakShape.OneWay || (!plan.IsHeld && plan.Act != SoakAct.Refuse),
        StatusCode.Aborted => plan.Act == SoakAct.Refuse,
        StatusCode.DeadlineExceeded => plan.Interruption == SoakInterruption.Deadline,
        StatusCode.Cancelled => isClosing()
            || plan.Interruption is SoakInterruption.Token or SoakInterruption.Dispose
            || (shape == SoakShape.Bytes && plan.Interruption != SoakInterruption.None),
        StatusCode.Unavailable or StatusCode.ResourceExhausted => true,
        _ => false,
    };

    private static CallOptions OptionsOf(SoakPlan plan, CancellationToken token)
    {
        DateTime? deadline = plan.Interruption == SoakInterruption.Deadline
            ? DateTime.UtcNow.AddMilliseconds(plan.InterruptionMilliseconds)
            : null;
        return new CallOptions(SoakMethods.HeadersOf(plan), deadline, token).WithWaitForReady(plan.IsWaitForReady);
    }

    private static Task CallAsync(SoakShape shape, SoakPlan plan, CallInvoker invoker) => shape switch
    {
        SoakShape.Blocking => BlockAsync(plan, invoker),
        SoakShape.Unary => UnaryAsync(plan, invoker),
        SoakShape.ServerStream => ServerStreamAsync(plan, invoker),
        SoakShape.ClientStream => ClientStreamAsync(plan, invoker),
        SoakShape.Duplex => DuplexAsync(plan, invoker),
        _ => throw new InvalidOperationException($"{shape} is no shape of one call."),
    };

    private static Task BlockAsync(SoakPlan plan, CallInvoker invoker) => InterruptedAsync(plan, token =>
    {
        byte[] response = invoker.BlockingUnaryCall(
            SoakMethods.Unary, null, OptionsOf(plan, token), SoakMessage.Create(plan, SoakSide.Client, 0));
        SoakMessage.Check(response, plan, SoakSide.Server, 0);
        return (new NoCall(), Task.CompletedTask);
    });

    private static Task UnaryAsync(SoakPlan plan, CallInvoker invoker) => InterruptedAsync(plan, token =>
    {
        AsyncUnaryCall<byte[]> call = invoker.AsyncUnaryCall(
            SoakMethods.Unary, null, OptionsOf(plan, token), SoakMessage.Create(plan, SoakSide.Client, 0));
        return (call, EndAsync());

        async Task EndAsync()
        {
            SoakMessage.Check(await call.ResponseAsync, plan, SoakSide.Server, 0);
            SoakMethods.CheckTrailers(call.GetTrailers(), plan);
        }
    });

    private static Task ServerStreamAsync(SoakPlan plan, CallInvoker invoker) => InterruptedAsync(plan, token =>
    {
        AsyncServerStreamingCall<byte[]> call = invoker.AsyncServerStreamingCall(
            SoakMethods.ServerStream, null, OptionsOf(plan, token), SoakMessage.Create(plan, SoakSide.Client, 0));
        return (call, EndAsync());

        async Task EndAsync()
        {
            await ReadAsync(plan, call.ResponseStream);
            SoakMethods.CheckTrailers(call.GetTrailers(), plan);
        }
    });

    private static Task ClientStreamAsync(SoakPlan plan, CallInvoker invoker) => InterruptedAsync(plan, token =>
    {
        AsyncClientStreamingCall<byte[], byte[]> call = invoker.AsyncClientStreamingCall(
            SoakMethods.ClientStream, null, OptionsOf(plan, token));
        return (call, EndAsync());

        async Task EndAsync()
        {
            await WriteAsync(plan, call.RequestStream);
            SoakMessage.Check(await call.ResponseAsync, plan, SoakSide.Server, 0);
            SoakMethods.CheckTrailers(call.GetTrailers(), plan);
        }
    });

    private static Task DuplexAsync(SoakPlan plan, CallInvoker invoker) => InterruptedAsync(plan, token =>
    {
        AsyncDuplexStreamingCall<byte[], byte[]> call = invoker.AsyncDuplexStreamingCall(
            SoakMethods.Duplex, null, OptionsOf(plan, token));
        return (call, EndAsync());

        async Task EndAsync()
        {
            Task writing = WriteAsync(plan, call.RequestStream);
            try
            {
                await ReadAsync(plan, call.ResponseStream);
            }
            finally
            {
                await writing;
            }

            SoakMethods.CheckTrailers(call.GetTrailers(), plan);
        }
    });

    // Nothing comes back that could be checked.
    private static async Task OneWayAsync(SoakPlan plan, CallInvoker oneWay, bool isThread)
    {
        CallOptions options = OptionsOf(plan, CancellationToken.None);
        byte[] request = SoakMessage.Create(plan, SoakSide.Client, 0);
        if (isThread)
        {
            oneWay.BlockingUnaryCall(SoakMethods.Unary, null, options, request);
        }
        else
        {
            await oneWay.AsyncUnaryCall(SoakMethods.Unary, null, options, request);
        }
    }

    private static Task BytesAsync(SoakPlan plan, SoakChannel channel) => InterruptedAsync(plan, token =>
    {
        return (new NoCall(), EndAsync());

        async Task EndAsync()
        {
            using var given = CancellationTokenSource.CreateLinkedTokenSource(token);
            if (plan.Interruption is SoakInterruption.Deadline or SoakInterruption.Dispose)
            {
                given.CancelAfter(plan.InterruptionMilliseconds);
            }

            ShmStream stream = await ShmStream.ConnectAsync(
                SoakStreams.AddressFor(channel.Address), channel.Streams, given.Token);
            await SoakStreams.CallAsync(stream, plan, given.Token);
        }
    });

    private static async Task ReadAsync(SoakPlan plan, IAsyncStreamReader<byte[]> responses)
    {
        int count = 0;
        while (await responses.MoveNext(CancellationToken.None))
        {
            SoakMessage.Check(responses.Current, plan, SoakSide.Server, count);
            count++;
        }

        if (count != plan.Messages)
        {
            throw new SoakViolationException($"The responses ended OK after {count} of {plan}.");
        }
    }

    // A write fails if the call has ended; reads and response report the reason.
    private static async Task WriteAsync(SoakPlan plan, IClientStreamWriter<byte[]> requests)
    {
        try
        {
            for (int i = 0; i < plan.Messages; i++)
            {
                await requests.WriteAsync(SoakMessage.Create(plan, SoakSide.Client, i));
            }

            await requests.CompleteAsync();
        }
        catch (Exception exception)
            when (exception is RpcException or InvalidOperationException or OperationCanceledException)
        {
        }
    }

    /// <summary>Starts a call, interrupts it as planned, and awaits its end.</summary>
    private static async Task InterruptedAsync(
        SoakPlan plan, Func<CancellationToken, (IDisposable Call, Task End)> start)
    {
        using var cancellation = new CancellationTokenSource();
        if (plan.Interruption == SoakInterruption.Token
            || (plan.Interruption == SoakInterruption.Dispose && plan.Shape == SoakShape.Blocking))
        {
            cancellation.CancelAfter(plan.InterruptionMilliseconds);
        }

        // Before the call: in a starved process a timer may throw, and nobody would then await the end of the call.
        Task? pause = plan.Interruption == SoakInterruption.Dispose
            ? Task.Delay(plan.InterruptionMilliseconds)
            : null;
        (IDisposable call, Task end) = start(cancellation.Token);
        using (call)
        {
            if (pause is not null)
            {
                await Task.WhenAny(end, pause);
                call.Dispose();
            }

            await end;
        }
    }

    /// <summary>Nothing to dispose: the call ends by itself.</summary>
    private sealed class NoCall : IDisposable
    {
        public void Dispose()
        {
        }
    }
}
