using System.Diagnostics;
using Grpc.Core;
using RpcOverShm.Connections;
using RpcOverShm.Links;
using RpcOverShm.Scheduling;

namespace RpcOverShm.Clients;

/// <summary>
/// The one connection of a channel: made when a call needs it, shared by all calls, made anew after it was lost or the
/// server has announced that it is leaving. Callers that come while it is being made wait for the same attempt, and for
/// one more where nobody listened. After a failure it is tried again by itself, with pauses that grow, until there is
/// a connection. Any thread may use it; the channel disposes it.
/// </summary>
/// <param name="owner">What its users know it as: the type in the exception of one that was shut down.</param>
/// <param name="address">Where the server listens.</param>
/// <param name="settings">Of each connection.</param>
/// <param name="scheduling">Of each connection.</param>
/// <param name="backoff">The pauses.</param>
/// <param name="publisher">Makes the public exception of a failure.</param>
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
    private TaskCompletionSource<Connection>? _attempt; // the one that is being made; null in the pauses
    private TaskCompletionSource<Connection>? _next;    // of those who came while it was being made
    private TaskCompletionSource<Connection>? _ready;   // of those who wait through failures
    private TaskCompletionSource? _pause;               // completed to end the pause

    public Connectivity Connectivity { get; } = new();

    /// <summary>Fires when the channel is shut down. To be asked for before that.</summary>
    public CancellationToken ShutdownToken => _shutdown.Token;

    public static CloseReason ChannelDisposed => new(CloseKind.Local, "The channel was disposed.");

    /// <summary>The connection to start a call on.</summary>
    /// <param name="isWaitForReady">
    /// Whether to wait until there is one, through failures. Otherwise the task has the failure of the attempt that
    /// this call has waited for, or of the last one in the pauses.
    /// </param>
    /// <returns>
    /// Failures are the task's, and nothing is thrown here: a call that was begun before the channel was shut down ends
    /// with that, wherever it is. A <see cref="ConnectException"/> where there is no connection and none could be made,
    /// an <see cref="ObjectDisposedException"/> where the channel was shut down.
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

    /// <summary>Makes no more connections. Those that are open stay until they are closed or drained.</summary>
    /// <returns>The connections that live; none is added afterwards.</returns>
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

                // On the pool: a caller's synchronization context has no part in this, nor does the caller wait here.
                CancellationToken shutdown = _shutdown.Token;
                _ = Task.Run(() => TryUntilReadyAsync(shutdown), CancellationToken.None);
                return (isWaitForReady ? _ready ??= NewSource() : _attempt!).Task;
            }

            return isWaitForReady ? (_ready ??= NewSource()).Task : Join();
        }
    }

    // Under the gate, while it is being tried. That nobody listens is seen in microseconds: a call need not fail for
    // what was so a moment ago, before it was made.
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

    /// <summary>Null when there is nothing more to try: there is a connection, or the channel was shut down.</summary>
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
            // Nobody foresaw it, so nobody is to wait for better times: the next call tries again.
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
    /// The pause begins; completes when somebody wants the next attempt at once. Null when that is begun already, for
    /// those who came while the last one was being made.
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

        // The connection takes no new calls from here on; it is closed when those that live have ended.
        _ = CloseWhenDrainedAsync(connection);
    }

    private static async Task CloseWhenDrainedAsync(Connection connection)
    {
        await connection.WhenOutgoingCallsEndAsync().ConfigureAwait(false);

        // The server's doing, not this side's: a call that came too late to be drained is Unavailable, not Cancelled.
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
        // Nobody may be waiting, which is no reason to be told of an unobserved exception.
        source?.SetException(exception);
        _ = source?.Task.Exception;
    }

    private ObjectDisposedException Disposed() => new(owner.FullName, "The channel was shut down.");
}

/// <summary>
/// How long to wait between attempts to connect: gRPC's connection back-off (multiplier 1.6, jitter of a fifth either
/// way; doc/connection-backoff.md of gRPC), with times for one machine. A value without state.
/// </summary>
/// <param name="Initial">After the first failure. Above zero.</param>
/// <param name="Longest">At most, before the jitter. Not below the initial one.</param>
internal readonly record struct ReconnectBackoff(TimeSpan Initial, TimeSpan Longest)
{
    private const double Multiplier = 1.6;
    private const double Jitter = 0.2;

    /// <summary>The pause after so many failures in a row.</summary>
    /// <param name="failures">1 or more.</param>
    /// <param name="random">A random number from 0 up to 1, without it.</param>
    public TimeSpan After(int failures, double random)
    {
        double grown = Initial.TotalMilliseconds * Math.Pow(Multiplier, failures - 1);
        double bounded = Math.Min(grown, Longest.TotalMilliseconds);
        return TimeSpan.FromMilliseconds(bounded * (1 - Jitter + (2 * Jitter * random)));
    }
}
