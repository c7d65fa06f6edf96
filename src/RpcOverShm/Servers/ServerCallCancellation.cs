using RpcOverShm.Calls;

namespace RpcOverShm.Servers;

/// <summary>
/// Creates the token source of an incoming call on first use, and cancels it. The call holds the source in a field.
/// Thread-safe.
/// </summary>
internal static class ServerCallCancellation
{
    private static readonly CancellationTokenSource s_fired = CreateFired();

    /// <summary>Returns the token of a call, and makes its source on first use.</summary>
    public static CancellationToken Get(ref CancellationTokenSource? field)
    {
        CancellationTokenSource? source = Volatile.Read(ref field);
        if (source is null)
        {
            var made = new CancellationTokenSource();
            source = Interlocked.CompareExchange(ref field, made, null) ?? made;
        }

        return source.Token;
    }

    /// <summary>
    /// Cancels the token of a call, even if it is requested only later. Callbacks of the method run on the thread pool,
    /// because they must not run on the reading thread. A blocked method sees the cancelled token without the pool.
    /// </summary>
    public static void Fire(ref CancellationTokenSource? field)
    {
        if (Interlocked.CompareExchange(ref field, s_fired, null) is { } source && source != s_fired)
        {
            // An exception of a callback is observed and dropped: no caller could receive it.
            source.CancelObserved();
        }
    }

    private static CancellationTokenSource CreateFired()
    {
        var fired = new CancellationTokenSource();
        fired.Cancel();
        return fired;
    }
}
