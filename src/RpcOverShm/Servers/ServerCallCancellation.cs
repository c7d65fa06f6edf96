namespace RpcOverShm.Servers;

/// <summary>
/// The cancellation token of one incoming call, made when the method first asks for it. Fires on the thread pool,
/// because the callbacks of user code must not run on the reading thread. Thread-safe.
/// </summary>
internal sealed class ServerCallCancellation : IThreadPoolWorkItem
{
    private static readonly ServerCallCancellation s_fired = new(new CancellationTokenSource());

    private readonly CancellationTokenSource _source;

    static ServerCallCancellation() => s_fired._source.Cancel();

    private ServerCallCancellation(CancellationTokenSource source) => _source = source;

    /// <summary>Returns the token of a call, which holds it in a field, and makes it on first use.</summary>
    public static CancellationToken Get(ref ServerCallCancellation? field)
    {
        ServerCallCancellation? token = Volatile.Read(ref field);
        if (token is null)
        {
            var made = new ServerCallCancellation(new CancellationTokenSource());
            token = Interlocked.CompareExchange(ref field, made, null) ?? made;
        }

        return token._source.Token;
    }

    /// <summary>Returns whether the method had the token when that fired, and so can know of the end.</summary>
    public static bool HasTold(ServerCallCancellation? token) =>
        token is not null && token != s_fired && token._source.IsCancellationRequested;

    /// <summary>Cancels the token of a call, also one that is asked for later.</summary>
    public static void Fire(ref ServerCallCancellation? field)
    {
        if (Interlocked.CompareExchange(ref field, s_fired, null) is { } token && token != s_fired)
        {
            ThreadPool.UnsafeQueueUserWorkItem(token, preferLocal: false);
        }
    }

    /// <summary>Cancels the token. Only the thread pool calls this.</summary>
    public void Execute()
    {
        try
        {
            _source.Cancel();
        }
        catch (AggregateException)
        {
            // No caller can receive the exception of a user's callback. The token is cancelled all the same.
        }
    }
}
