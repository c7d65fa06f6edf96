namespace RpcOverShm.Servers;

/// <summary>
/// The cancellation token of one served call, made when the method first asks for it. Fires on the thread pool: what
/// users hang on it must not run on the thread that reads the ring. Any thread may use it.
/// </summary>
internal sealed class ServerCallCancellation : IThreadPoolWorkItem
{
    private static readonly ServerCallCancellation s_fired = new(new CancellationTokenSource());

    private readonly CancellationTokenSource _source;

    static ServerCallCancellation() => s_fired._source.Cancel();

    private ServerCallCancellation(CancellationTokenSource source) => _source = source;

    /// <summary>The token of a call, made if nobody has asked for it before.</summary>
    /// <param name="field">Where the call keeps it.</param>
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

    /// <summary>True when somebody has asked for the token and it has fired since: the method can know.</summary>
    public static bool HasTold(ServerCallCancellation? token) =>
        token is not null && token != s_fired && token._source.IsCancellationRequested;

    /// <summary>Cancels the token of a call, or the one that will be asked for.</summary>
    /// <param name="field">Where the call keeps it.</param>
    public static void Fire(ref ServerCallCancellation? field)
    {
        if (Interlocked.CompareExchange(ref field, s_fired, null) is { } token && token != s_fired)
        {
            ThreadPool.UnsafeQueueUserWorkItem(token, preferLocal: false);
        }
    }

    /// <summary>Not for callers: the pool's way in.</summary>
    public void Execute()
    {
        try
        {
            _source.Cancel();
        }
        catch (AggregateException)
        {
            // What a user's callback throws has nobody to go to; the method sees its token cancelled all the same.
        }
    }
}
