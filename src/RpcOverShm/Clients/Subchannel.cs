using System.Diagnostics;
using Grpc.Core;
using RpcOverShm.Connections;
using RpcOverShm.Links;
using RpcOverShm.Scheduling;

namespace RpcOverShm.Clients;

/// <summary>
/// The single connection of a channel: made when a call needs it, shared by all calls, and replaced after it was lost
/// or the server has announced that it leaves. A call that arrives during an attempt waits for that attempt, and for
/// one more if no server listened. After a failure the subchannel reconnects by itself, with growing pauses, until it
/// has a connection. Any thread may use it; the channel disposes it.
/// </summary>
/// <param name="owner">The public type that the exception names after a shutdown.</param>
/// <param name="address">The address of the server.</param>
/// <param name="settings">The settings of each connection.</param>
/// <param name="scheduling">The scheduling mode of each connection.</param>
/// <param name="backoff">The pauses between attempts.</param>
/// <param name="publisher">Creates the public exception of a failure.</param>
internal sealed class Subchannel(
    Type owner,
    RendezvousAddress address,
    ConnectionSettings settings,
    SchedulingMode scheduling,
    ReconnectBackoff backoff,
    Func<ConnectException, string, Exception> publisher)
    : IDisposable
{
    private readonly Lock _gate = new();
    private readonly CancellationTokenSource _shutdown = new();
    private readonly HashSet<Connection> _live = [];
    private volatile Connection? _current;
    private volatile bool _isShutDown;
    private bool _isTrying;                            // from the first attempt until there is a connection
    private TaskCompletionSource<Connection>? _attempt; // the current attempt; null during a pause
    private TaskCompletionSource<Connection>? _next;    // of calls that arrived during the current attempt
    private TaskCompletionSource<Connection>? _ready;   // of calls that wait for ready
    private TaskCompletionSource? _pause;               // completed to end the pause

    public Connectivity Connectivity { get; } = new();

    /// <summary>Cancelled when the channel is shut down. Must be read before <see cref="Dispose"/>.</summary>
    public CancellationToken ShutdownToken => _shutdown.Token;

    public static CloseReason ChannelDisposed => new(CloseKind.Local, "The channel was disposed.");

    /// <summary>Gets the connection to start a call on.</summary>
    /// <param name="isWaitForReady">
    /// Whether to wait for a connection through failures. If false, the task fails with the failure of the attempt that
    /// this call has waited for or, during a pause, of the last attempt.
    /// </param>
    /// <returns>
    /// A task. This method itself never throws, so that a call which began before a shutdown fails in the same way at
    /// every stage. The task fails with a <see cref="ConnectException"/> if no connection could be made, and with an
    /// <see cref="ObjectDisposedException"/> if the channel was shut down.
    /// </returns>
    public ValueTask<Connection> GetAsync(bool isWaitForReady)
    {
        Connection? current = _current;
        return current is { IsOpenForCalls: true }
            ? new ValueTask<Connection>(current)
            : new ValueTask<Connection>(Connect(isWaitForReady));
    }

    /// <exception cref="ObjectDisposedException">The channel was shut down.</exception>
    public void ThrowIfShutDown() => ObjectDisposedException.ThrowIf(_isShutDown, owner);

    /// <summary>Stops making connections. Open connections stay until they are closed or drained.</summary>
    /// <returns>The live connections; none is added afterwards.</returns>
    public Connection[] ShutDown()
    {
        Connection[] live;
        TaskCompletionSource<Connection>? waiting;
        lock (_gate)
        {
            _isShutDown = true;
            waiting = _ready;
            _ready = null;
            live = [.. _live];
        }

        Connectivity.Set(ConnectivityState.Shutdown);
        _shutdown.Cancel();
        Fail(waiting, Disposed());
        return live;
    }

    public void Dispose() => _shutdown.Dispose();

    private Task<Connection> Connect(bool isWaitForReady)
    {
        lock (_gate)
        {
            if (_isShutDown)
            {
                return Task.FromException<Connection>(Disposed());
            }

            if (_current is { IsOpenForCalls: true } current)
            {
                return Task.FromResult(current);
            }

            if (!_isTrying)
            {
                _isTrying = true;
                _current = null;
                BeginAttempt(NewSource());

                // On the thread pool: independent of the caller's synchronization context, and without blocking it.
                CancellationToken shutdown = _shutdown.Token;
                _ = Task.Run(() => TryUntilReadyAsync(shutdown), CancellationToken.None);
                return (isWaitForReady ? _ready ??= NewSource() : _attempt!).Task;
            }

            return isWaitForReady ? (_ready ??= NewSource()).Task : Join();
        }
    }

    // Under the gate, during an attempt or a pause. A missing listener is detected within microseconds, so a call does
    // not fail with a result from before it was made: it waits for one more attempt, or ends the pause.
    private Task<Connection> Join()
    {
        if (_attempt is not null)
        {
            return (_next ??= NewSource()).Task;
        }

        ConnectException failure = Connectivity.LastFailure!;
        if (failure.Failure != ConnectFailure.NotListening)
        {
            return Task.FromException<Connection>(failure);
        }

        BeginAttempt(NewSource());
        _pause!.TrySetResult();
        return _attempt!.Task;
    }

    private async Task TryUntilReadyAsync(CancellationToken shutdown)
    {
        for (int failures = 1; ; failures++)
        {
            ConnectException? failure = await TryOnceAsync(shutdown).ConfigureAwait(false);
            if (failure is null)
            {
                return;
            }

            if (OnConnectFailed(failure) is not { } pause)
            {
                continue;
            }

            using var end = CancellationTokenSource.CreateLinkedTokenSource(shutdown);
            TimeSpan length = backoff.After(failures, Random.Shared.NextDouble());
            await Task.WhenAny(pause, Task.Delay(length, end.Token)).ConfigureAwait(false);
            await end.CancelAsync().ConfigureAwait(false);
            lock (_gate)
            {
                if (_attempt is null)
                {
                    BeginAttempt(NewSource());
                }
            }
        }
    }

    /// <summary>
    /// Makes one attempt. Returns the failure to retry after; null if there is nothing to retry: the attempt succeeded,
    /// the channel was shut down, or an unexpected exception went to the waiting calls.
    /// </summary>
    private async Task<ConnectException?> TryOnceAsync(CancellationToken shutdown)
    {
        try
        {
            PeerLink link = await ClientHandshake.ConnectAsync(address, settings, shutdown).ConfigureAwait(false);
            Adopt(new Connection(link, scheduling, accept: null, OnGoAway));
            return null;
        }
        catch (ConnectException exception)
        {
            exception.Publisher = publisher;
            return exception;
        }
        catch (OperationCanceledException)
        {
            EndTrying(source => Fail(source, Disposed()));
            return null;
        }
        catch (Exception exception)
        {
            // A retry may not help against an unexpected exception: all waiting calls fail, and the next call retries.
            Connectivity.Set(ConnectivityState.Idle);
            EndTrying(source => Fail(source, exception));
            return null;
        }
    }

    private void Adopt(Connection connection)
    {
        bool isRequested;
        lock (_gate)
        {
            isRequested = !_isShutDown;
            if (isRequested)
            {
                _live.Add(connection);
                _current = connection;
                Connectivity.LastFailure = null;
                Connectivity.Set(ConnectivityState.Ready);
            }
        }

        connection.Start();
        if (isRequested)
        {
            _ = ForgetWhenClosedAsync(connection);
            EndTrying(source => source.SetResult(connection));
        }
        else
        {
            connection.Close(ChannelDisposed);
            EndTrying(source => Fail(source, Disposed()));
        }
    }

    // Under the gate.
    private void BeginAttempt(TaskCompletionSource<Connection> attempt)
    {
        _attempt = attempt;
        Connectivity.Set(ConnectivityState.Connecting);
    }

    private void EndTrying(Action<TaskCompletionSource<Connection>> tell)
    {
        TaskCompletionSource<Connection>?[] waiting;
        lock (_gate)
        {
            Debug.Assert(_attempt is not null, "Who tries has begun an attempt.");
            waiting = [_attempt, _next, _ready];
            _attempt = null;
            _next = null;
            _ready = null;
            _isTrying = false;
        }

        foreach (TaskCompletionSource<Connection>? source in waiting)
        {
            if (source is not null)
            {
                tell(source);
            }
        }
    }

    /// <summary>
    /// Fails the calls of the attempt and begins a pause. Returns the pause, which completes when a call requests the
    /// next attempt at once; null if that attempt has already begun, for calls that arrived during the failed one.
    /// </summary>
    private Task? OnConnectFailed(ConnectException failure)
    {
        TaskCompletionSource<Connection>? attempt;
        TaskCompletionSource<Connection>? next;
        Task? pause = null;
        lock (_gate)
        {
            attempt = _attempt;
            next = _next;
            _attempt = null;
            _next = null;
            Connectivity.LastFailure = failure;
            Connectivity.Set(ConnectivityState.TransientFailure);
            if (next is not null && failure.Failure == ConnectFailure.NotListening)
            {
                BeginAttempt(next);
                next = null;
            }
            else
            {
                _pause = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
                pause = _pause.Task;
            }
        }

        Fail(attempt, failure);
        Fail(next, failure);
        return pause;
    }

    private void OnGoAway(Connection connection)
    {
        lock (_gate)
        {
            Leave(connection);
        }

        // The connection takes no new calls from here on and closes when its live calls have ended.
        _ = CloseWhenDrainedAsync(connection);
    }

    private static async Task CloseWhenDrainedAsync(Connection connection)
    {
        await connection.WhenOutgoingCallsEndAsync().ConfigureAwait(false);

        // Closed in the server's name: a call that came too late to be drained fails with Unavailable, not Cancelled.
        connection.Close(new CloseReason(CloseKind.PeerClosed, "The server is leaving and all calls have ended."));
    }

    private async Task ForgetWhenClosedAsync(Connection connection)
    {
        await connection.Closed.ConfigureAwait(false);
        lock (_gate)
        {
            _live.Remove(connection);
            Leave(connection);
        }
    }

    // Under the gate.
    private void Leave(Connection connection)
    {
        if (_current == connection)
        {
            _current = null;
            Connectivity.Set(ConnectivityState.Idle);
        }
    }

    private static TaskCompletionSource<Connection> NewSource() =>
        new(TaskCreationOptions.RunContinuationsAsynchronously);

    private static void Fail(TaskCompletionSource<Connection>? source, Exception exception)
    {
        // Marks the exception as observed: perhaps no call waits for this task.
        source?.SetException(exception);
        _ = source?.Task.Exception;
    }

    private ObjectDisposedException Disposed() => new(owner.FullName, "The channel was shut down.");
}

/// <summary>
/// The pauses between attempts to connect: gRPC's connection back-off (multiplier 1.6, jitter of 20 % either
/// way; see doc/connection-backoff.md of gRPC), with times that suit one machine. A value without state.
/// </summary>
/// <param name="Initial">The pause after the first failure, above zero.</param>
/// <param name="Longest">The longest pause before the jitter, at least <paramref name="Initial"/>.</param>
internal readonly record struct ReconnectBackoff(TimeSpan Initial, TimeSpan Longest)
{
    private const double Multiplier = 1.6;
    private const double Jitter = 0.2;

    /// <summary>Returns the pause after a number of consecutive failures.</summary>
    /// <param name="failures">The number of failures, 1 or more.</param>
    /// <param name="random">A random number from 0 (inclusive) to 1 (exclusive).</param>
    public TimeSpan After(int failures, double random)
    {
        double grown = Initial.TotalMilliseconds * Math.Pow(Multiplier, failures - 1);
        double bounded = Math.Min(grown, Longest.TotalMilliseconds);
        return TimeSpan.FromMilliseconds(bounded * (1 - Jitter + (2 * Jitter * random)));
    }
}
