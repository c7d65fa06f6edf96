namespace RpcOverShm.FunctionalTests.RandomEnds;

/// <summary>An awaited call of any shape.</summary>
internal sealed class StartedCall : IDisposable
{
    private readonly IDisposable _call;
    private readonly Func<Status> _getStatus;
    private readonly Func<Task> _finish;

    private StartedCall(IDisposable call, object inside, Func<Status> getStatus, Func<Task> finish)
    {
        _call = call;
        Inside = inside;
        _getStatus = getStatus;
        _finish = finish;
    }

    /// <summary>An object that the library references while it knows the call, unlike the caller's wrapper.</summary>
    public object Inside { get; }

    public static StartedCall Start(
        ScriptClient client, CallPlan plan, CancellationToken token, CancellationToken readToken)
    {
        CallOptions options = plan.ToOptions(token);
        switch (plan.Shape)
        {
            case CallShape.Unary:
                AsyncUnaryCall<Payload> unary = client.UnaryAsync(Payloads.OfSize(plan.Bytes), options);
                return new StartedCall(unary, unary.ResponseAsync, unary.GetStatus, () => unary.ResponseAsync);
            case CallShape.ServerStream:
                AsyncServerStreamingCall<Payload> serverStream =
                    client.ServerStream(Payloads.OfSize(plan.Bytes), options);
                return new StartedCall(
                    serverStream,
                    serverStream.ResponseStream,
                    serverStream.GetStatus,
                    () => ReadAsync(serverStream.ResponseStream, readToken));
            case CallShape.ClientStream:
                AsyncClientStreamingCall<Payload, Payload> clientStream = client.ClientStream(options);
                return new StartedCall(clientStream, clientStream.ResponseAsync, clientStream.GetStatus, async () =>
                {
                    await WriteAsync(clientStream.RequestStream, plan);
                    await clientStream.ResponseAsync;
                });
            default:
                AsyncDuplexStreamingCall<Payload, Payload> duplex = client.Duplex(options);
                return new StartedCall(duplex, duplex.ResponseStream, duplex.GetStatus, async () =>
                {
                    Task writing = WriteAsync(duplex.RequestStream, plan);
                    try
                    {
                        await ReadAsync(duplex.ResponseStream, readToken);
                    }
                    finally
                    {
                        await writing;
                    }
                });
        }
    }

    /// <summary>Writes and reads all messages; returns the call's status.</summary>
    public async Task<StatusCode> EndAsync()
    {
        try
        {
            await _finish();
        }
        catch (RpcException exception)
        {
            return exception.StatusCode;
        }
        catch (ObjectDisposedException)
        {
            // A read after Dispose throws; the status still tells how the call ended.
        }

        return await StatusAsync();
    }

    /// <summary>Returns the call's status, which Grpc.Core may report after the last read.</summary>
    public async Task<StatusCode> StatusAsync()
    {
        Status status = default;
        await Timeouts.Eventually(() => TryGet(out status));
        return status.StatusCode;
    }

    public void Dispose() => _call.Dispose();

    private bool TryGet(out Status status)
    {
        try
        {
            status = _getStatus();
            return true;
        }
        catch (InvalidOperationException)
        {
            status = default;
            return false;
        }
    }

    private static async Task ReadAsync(IAsyncStreamReader<Payload> responses, CancellationToken token)
    {
        while (await responses.MoveNext(token))
        {
        }
    }

    // A write fails if the call has ended; reads and response report the reason more precisely.
    private static async Task WriteAsync(IClientStreamWriter<Payload> requests, CallPlan plan)
    {
        try
        {
            for (int i = 0; i < plan.Messages; i++)
            {
                await requests.WriteAsync(Payloads.OfSize(plan.Bytes));
            }

            await requests.CompleteAsync();
        }
        catch (Exception exception)
            when (exception is RpcException or InvalidOperationException or OperationCanceledException)
        {
            // The caller checks the call's status instead.
        }
    }
}
