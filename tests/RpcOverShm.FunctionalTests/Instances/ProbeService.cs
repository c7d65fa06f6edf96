namespace RpcOverShm.FunctionalTests.Instances;

/// <summary>A service that a generated base declares, whose instances and runs are counted.</summary>
internal sealed class ProbeService(Probe probe) : ConformanceContract.ConformanceBase, IAsyncDisposable
{
    private int _isDisposed;

    /// <summary>The number of the instance, from 1.</summary>
    public int Number { get; } = probe.CountCreated();

    public override Task<Payload> Echo(Payload request, ServerCallContext context) => RunAsync(request, context);

    public override async Task<Number> Sum(IAsyncStreamReader<Number> requestStream, ServerCallContext context)
    {
        await RunAsync(Payloads.Empty, context);
        long sum = 0;
        while (await requestStream.MoveNext(context.CancellationToken))
        {
            sum += requestStream.Current.Value;
        }

        return new Number { Value = sum };
    }

    public override async Task Count(
        CountRequest request, IServerStreamWriter<Number> responseStream, ServerCallContext context)
    {
        await RunAsync(Payloads.Empty, context);
        await responseStream.WriteAsync(new Number { Value = Number });
    }

    public override async Task EchoAll(
        IAsyncStreamReader<Payload> requestStream,
        IServerStreamWriter<Payload> responseStream,
        ServerCallContext context)
    {
        while (await requestStream.MoveNext(context.CancellationToken))
        {
            await responseStream.WriteAsync(await RunAsync(requestStream.Current, context));
        }
    }

    public ValueTask DisposeAsync()
    {
        Assert.That(Interlocked.Exchange(ref _isDisposed, 1), Is.Zero, "The instance was disposed before.");
        return probe.OnDisposedAsync();
    }

    private Task<Payload> RunAsync(Payload request, ServerCallContext context)
    {
        Assert.That(Volatile.Read(ref _isDisposed), Is.Zero, "A disposed instance runs a call.");
        return probe.Run(this, request, context);
    }
}
