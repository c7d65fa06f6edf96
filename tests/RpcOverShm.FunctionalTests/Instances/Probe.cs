namespace RpcOverShm.FunctionalTests.Instances;

/// <summary>Tells the instances of <see cref="ProbeService"/> what to do, and counts what they have done.</summary>
internal sealed class Probe
{
    private int _created;
    private int _disposed;
    private int _inside;
    private int _mostInside;

    public int Created => Volatile.Read(ref _created);

    public int Disposed => Volatile.Read(ref _disposed);

    /// <summary>The most parts of methods between Enter and Leave at a time.</summary>
    public int MostInside => Volatile.Read(ref _mostInside);

    public Func<ProbeService, Payload, ServerCallContext, Task<Payload>> Run { get; set; } =
        static (service, _, _) => Task.FromResult(Payloads.Of($"{service.Number}"));

    public Func<Task> OnDispose { get; set; } = static () => Task.CompletedTask;

    public Func<ShmActivationContext, ProbeService> Create => _ => new ProbeService(this);

    public int CountCreated() => Interlocked.Increment(ref _created);

    public async ValueTask OnDisposedAsync()
    {
        await OnDispose();
        Interlocked.Increment(ref _disposed);
    }

    public void Enter()
    {
        int inside = Interlocked.Increment(ref _inside);
        int most;
        while (inside > (most = MostInside) && Interlocked.CompareExchange(ref _mostInside, inside, most) != most)
        {
        }
    }

    public void Leave() => Interlocked.Decrement(ref _inside);
}
