using Grpc.Core;
using RpcOverShm.Calls;
using RpcOverShm.Connections;
using RpcOverShm.Diagnostics;
using RpcOverShm.Links;
using RpcOverShm.Systems;

namespace RpcOverShm.Clients;

/// <summary>
/// The connection of a channel. It is made when a call needs it, shared by all calls, and replaced after it was lost or
/// the server has sent GoAway. A call that arrives during an attempt waits for that attempt, and for one more if no
/// server listened. After a failure the subchannel reconnects with exponential back-off until it has a connection. Any
/// thread may use it; the channel disposes it.
/// </summary>
/// <remarks>
/// The state is the channel's connectivity. All transitions happen under the lock.
/// <code>
///         a call                 connected
///   Idle -------> Connecting ----------------> Ready
///    ^             |  |  ^                      |
///    |  unexpected |  |  | after the pause, or  |
///    |   exception |  |  | for a call if no     |
///    +-------------+  |  | server listened      |
///    |          failed|  |                      |
///    |                v  |                      |
///    |         TransientFailure                 |
///    |                                          |
///    +------------------------------------------+
///    connection lost, or the server leaves, or no call for the idle timeout
/// </code>
/// Ready becomes Connecting if a call finds the connection closed before its loss was handled. Each state can become
/// Shutdown, for good. A connection that the server leaves drains on its own.
/// </remarks>
internal sealed partial class Subchannel(
    Type owner,
    RendezvousAddress address,
    ConnectionSettings settings,
    ConnectionFactory open,
    ReconnectBackoff backoff,
    Func<ConnectException, string, Exception> publisher)
    : ConnectionProvider, IDisposable
{
    private readonly UninterruptibleLock _lock = new();
    private readonly CancellationTokenSource _shutdown = new();
    private readonly HashSet<Connection> _live = [];
    private volatile ConnectivityState _state = ConnectivityState.Idle;
    private volatile Connection? _current;   // accepts new calls; may just have been lost
    private TaskCompletionSource<Connection>? _attempt; // of calls that wait for the current attempt
    private TaskCompletionSource<Connection>? _next;    // of calls that arrived during the current attempt
    private TaskCompletionSource<Connection>? _ready;   // of calls that wait for ready
    private TaskCompletionSource? _pause;               // completed to end the pause after a failure
    private TaskCompletionSource? _change;              // of users who wait for another state

    public ConnectivityState State => _state;

    /// <summary>Cancelled when the channel is shut down. Must be read before <see cref="Dispose"/>.</summary>
    public override CancellationToken ShutdownToken => _shutdown.Token;

    /// <summary>The connection that takes calls, which may just have been lost; null if there is none.</summary>
    public Connection? Current => _current;

    /// <summary>Whether the channel has connections, or tries to make one.</summary>
    public bool IsInUse
    {
        get
        {
            using (_lock.Enter())
            {
                return _live.Count > 0
                    || _state is ConnectivityState.Connecting or ConnectivityState.TransientFailure;
            }
        }
    }

    public static CloseReason ChannelDisposed => new(CloseKind.Local, "The channel was disposed.");

    public override ValueTask<Connection> GetAsync(bool isWaitForReady, bool isOneWay = false)
    {
        if (!isOneWay && FindCallbackConnection() is { } own)
        {
            return new ValueTask<Connection>(own);
        }

        Connection? current = _current;
        return current is { IsOpenForCalls: true }
            ? new ValueTask<Connection>(current)
            : new ValueTask<Connection>(Connect(isWaitForReady));
    }

    /// <summary>Completes when the state differs from the given one, even if only briefly.</summary>
    public Task WaitForStateChangedAsync(ConnectivityState last, CancellationToken cancellationToken)
    {
        using (_lock.Enter())
        {
            if (_state != last)
            {
                return Task.CompletedTask;
            }

            _change ??= new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
            return _change.Task.WaitAsync(cancellationToken);
        }
    }

    public override void ThrowIfShutDown()
    {
        if (_state == ConnectivityState.Shutdown)
        {
            throw CreateDisposedException();
        }
    }

    /// <summary>Returns the exception of calls that are made after the shutdown.</summary>
    public ObjectDisposedException CreateDisposedException() => new(
        owner.FullName, $"The channel to {address} was shut down. Create another one with ShmChannel.ForAddress.");

    /// <summary>Stops making connections. Open connections stay until they are closed or drained.</summary>
    /// <returns>The live connections; none is added afterwards.</returns>
    public Connection[] ShutDown()
    {
        Connection[] live;
        using (_lock.Enter())
        {
            SetState(ConnectivityState.Shutdown);
            CompleteWaits(source => Fail(source, CreateDisposedException()));
            live = [.. _live];
        }

        UninterruptibleLock.Run(_shutdown, static shutdown =>
        {
            shutdown.Cancel();
            return true;
        });
        return live;
    }

    public void Dispose() => _shutdown.Dispose();

    // Returns the connection of the callback whose method runs in this context, even if the server has sent GoAway on
    // it: a call of that method continues a chain. Null if no callback runs.
    private Connection? FindCallbackConnection()
    {
        // A call that the client of this process has started is no callback: a nested call may go to another server.
        if (RunningCall.Current?.AsParent is not { Call.IsFromAcceptor: true } reference)
        {
            return null;
        }

        using (_lock.Enter())
        {
            foreach (Connection one in _live)
            {
                if (one.Id == reference.ConnectionId && one.CloseReason is null)
                {
                    return one;
                }
            }
        }

        return null;
    }

    private Task<Connection> Connect(bool isWaitForReady)
    {
        using (_lock.Enter())
        {
            if (_current is { IsOpenForCalls: false })
            {
                _current = null;
            }

            switch (_state)
            {
                case ConnectivityState.Shutdown:
                    return Task.FromException<Connection>(CreateDisposedException());

                case ConnectivityState.Ready when _current is { } current:
                    return Task.FromResult(current);

                case ConnectivityState.Idle or ConnectivityState.Ready:
                    SetState(ConnectivityState.Connecting);

                    // On the thread pool: without blocking the caller, and without its contexts, which the attempts and
                    // the connection outlive.
                    PoolWork.Queue(static start => _ = start.TryUntilReadyAsync(), this);
                    return Join(ref isWaitForReady ? ref _ready : ref _attempt);

                // A missing listener is detected within microseconds, so a call never fails because of an attempt that
                // began before the call: it ends the pause or, during an attempt, waits for one more.
                case ConnectivityState.TransientFailure when !isWaitForReady:
                    if (LastFailure!.Failure != ConnectFailure.NotListening)
                    {
                        return Task.FromException<Connection>(LastFailure);
                    }

                    SetState(ConnectivityState.Connecting);
                    _pause!.TrySetResult();
                    return Join(ref _attempt);

                default:
                    return Join(ref isWaitForReady ? ref _ready : ref _next);
            }
        }
    }

    /// <summary>Makes attempts until there is a connection, or the channel was shut down.</summary>
    private async Task TryUntilReadyAsync()
    {
        CancellationToken shutdown;
        using (_lock.Enter())
        {
            // Until it is shut down, the channel is not disposed.
            if (_state == ConnectivityState.Shutdown)
            {
                return;
            }

            shutdown = _shutdown.Token;
        }

        // An attempt may fail before it looks at the token, and a pause ends with the token at once.
        for (int failures = 1; !shutdown.IsCancellationRequested; failures++)
        {
            try
            {
                PeerLink link = await ClientHandshake.ConnectAsync(address, settings, shutdown).ConfigureAwait(false);
                Adopt(open(link, OnGoAway));
                return;
            }
            catch (ConnectException exception)
            {
                exception.Publisher = publisher;
                if (OnConnectFailed(exception) is not { } pause)
                {
                    continue;
                }

                TimeSpan length = backoff.After(failures, Random.Shared.NextDouble());
                await pause.WaitAsync(length, shutdown).ConfigureAwait(ConfigureAwaitOptions.SuppressThrowing);
            }
            catch (Exception exception)
            {
                OnAttemptBroken(exception);
                return;
            }

            using (_lock.Enter())
            {
                SetState(ConnectivityState.Connecting);
            }
        }
    }

    /// <summary>
    /// A retry may not help against an unexpected exception: all waiting calls fail, and the next call retries. After a
    /// shutdown no call waits.
    /// </summary>
    private void OnAttemptBroken(Exception exception)
    {
        using (_lock.Enter())
        {
            SetState(ConnectivityState.Idle);
            CompleteWaits(source => Fail(source, exception));
        }
    }

    /// <summary>Takes a connection into use, or closes it if the channel was shut down meanwhile.</summary>
    private void Adopt(Connection connection)
    {
        bool isAdopted;
        using (_lock.Enter())
        {
            isAdopted = _state != ConnectivityState.Shutdown;
            if (isAdopted)
            {
                _live.Add(connection);
                _current = connection;
                LastFailure = null;
                SetState(ConnectivityState.Ready);
            }
        }

        connection.Start();
        if (!isAdopted)
        {
            connection.Sender.SendGoAway();
            connection.Close(ChannelDisposed);
            return;
        }

        _ = RemoveWhenClosedAsync(connection);
        using (_lock.Enter())
        {
            CompleteWaits(source => source.SetResult(connection));
        }
    }

    /// <summary>
    /// Fails the calls of the attempt and begins a pause. Returns the pause, which completes when a call requests the
    /// next attempt at once; null for no pause, because calls that arrived meanwhile need that attempt.
    /// </summary>
    private Task? OnConnectFailed(ConnectException failure)
    {
        using (_lock.Enter())
        {
            LastFailure = failure;
            SetState(ConnectivityState.TransientFailure);
            Fail(_attempt, failure);
            (_attempt, _next) = (_next, null);
            if (_attempt is not null && failure.Failure == ConnectFailure.NotListening)
            {
                SetState(ConnectivityState.Connecting);
                return null;
            }

            Fail(_attempt, failure);
            _attempt = null;
            _pause = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
            return _pause.Task;
        }
    }

    private void OnGoAway(Connection connection)
    {
        StopUsing(connection);

        // The connection accepts no new calls from here on, and closes when its calls have ended. This runs on the
        // thread pool: the reading thread may be blocked in a call of the user, whose ExecutionContext must not be
        // captured.
        PoolWork.Queue(static leaving => _ = RetireAsync(leaving, ServerLeaving, isDrainedFirst: true), connection);
    }

    private async Task RemoveWhenClosedAsync(Connection connection)
    {
        await connection.Closed.ConfigureAwait(false);
        using (_lock.Enter())
        {
            _live.Remove(connection);
        }

        StopUsing(connection);
    }

    private void StopUsing(Connection connection)
    {
        using (_lock.Enter())
        {
            if (_current == connection)
            {
                _current = null;
                SetState(ConnectivityState.Idle);
            }
        }
    }

    // The caller holds the lock, here and in the methods below. Continuations of users run on the thread pool. Shutdown
    // is final.
    private void SetState(ConnectivityState state)
    {
        if (_state != state && _state != ConnectivityState.Shutdown)
        {
            _state = state;
            SetIdleTimer(isReady: state == ConnectivityState.Ready);
            _change?.SetResult();
            _change = null;
        }
    }

    private void CompleteWaits(Action<TaskCompletionSource<Connection>> complete)
    {
        foreach (TaskCompletionSource<Connection>? source in new[] { _attempt, _next, _ready })
        {
            if (source is not null)
            {
                complete(source);
            }
        }

        (_attempt, _next, _ready) = (null, null, null);
    }

    private static Task<Connection> Join(ref TaskCompletionSource<Connection>? source)
    {
        source ??= new TaskCompletionSource<Connection>(TaskCreationOptions.RunContinuationsAsynchronously);
        return source.Task;
    }

    private static void Fail(TaskCompletionSource<Connection>? source, Exception exception)
    {
        // Marks the exception as observed: perhaps no call waits for this task.
        source?.SetException(exception);
        _ = source?.Task.Exception;
    }
}

/// <summary>
/// Creates the connection of a link. The connection calls <paramref name="onGoAway"/> when the peer sends GoAway.
/// </summary>
internal delegate Connection ConnectionFactory(PeerLink link, Action<Connection> onGoAway);
