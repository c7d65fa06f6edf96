using RpcOverShm.Calls;
using RpcOverShm.Connections;
using RpcOverShm.Protocol;
using RpcOverShm.Scheduling;
using RpcOverShm.Sending;

namespace RpcOverShm.Clients;

/// <summary>
/// How a call gets from the invoker onto a connection: a connection is found or awaited, the head encoded, and what
/// goes wrong becomes the call's status. Holds nothing of a call.
/// </summary>
internal sealed class CallStarter(Subchannel connections, ClientSettings settings)
{
    private const FrameFlags Whole = FrameFlags.HasMessage | FrameFlags.HalfClose;

    // A connection may close between being found and being used; a call that was not sent may try another.
    private const int MaxAttempts = 3;

    private static readonly TimeSpan s_pauseAfterClose = TimeSpan.FromMilliseconds(20);

    /// <summary>No connection: the call ended before it was started.</summary>
    public static Task<Connection?> None { get; } = Task.FromResult<Connection?>(null);

    /// <summary>Starts a call that nobody blocks for.</summary>
    /// <param name="call">The call.</param>
    /// <param name="target">What its head is made of.</param>
    /// <param name="request">The serialised request; null where requests are a stream. Used until this returns.</param>
    /// <param name="isDeferred">Whether others follow, with which it may be published.</param>
    /// <returns>The connection that the call was started on; null when it ended before.</returns>
    public Task<Connection?> Start(
        ClientCall call, in RequestHeadInputs target, PooledBufferWriter? request, bool isDeferred = false)
    {
        ValueTask<Connection> connecting = connections.GetAsync(target.IsWaitForReady);
        if (!connecting.IsCompletedSuccessfully)
        {
            return StartLaterAsync(connecting.AsTask(), call, target, TakeOver(request));
        }

        Connection connection = connecting.Result;
        StartResult outcome = StartOn(connection, call, target, request, isDeferred);
        return outcome switch
        {
            StartResult.Started => connection.AsResult,
            StartResult.Closed => StartLaterAsync(
                connections.GetAsync(target.IsWaitForReady).AsTask(), call, target, TakeOver(request)),
            _ => None,
        };
    }

    /// <summary>Starts a call and returns when it is done.</summary>
    /// <param name="call">The call.</param>
    /// <param name="target">What its head is made of.</param>
    /// <param name="begunOn">Where parts of the request were sent already; null where nothing was.</param>
    /// <param name="request">The serialised request, or what was not sent of it.</param>
    public void Run(ClientCall call, in RequestHeadInputs target, Connection? begunOn, PooledBufferWriter request)
    {
        if (begunOn is not null)
        {
            begunOn.FinishCall(call, request);
            return;
        }

        for (int attempt = 1; ; attempt++)
        {
            if (WaitForConnection(call, target.IsWaitForReady) is not { } connection
                || !call.TryAttach(connection)
                || !RequestHeads.TryEncode(connection, call, target, settings.Codec?.Name, out PooledBufferWriter head))
            {
                return;
            }

            bool isWhole = head.Length + request.Length <= connection.InlineBytes;
            StartResult outcome = isWhole
                ? connection.RunCall(call, Whole, head.WrittenSpan, request.WrittenSpan, largeMessage: null)
                : connection.RunCall(call, FrameFlags.None, head.WrittenSpan, default, request);
            if (outcome != StartResult.Closed || IsLast(attempt, target))
            {
                FinishUnlessStarted(outcome, connection, call);
                return;
            }

            if (attempt >= MaxAttempts && !call.IsDone)
            {
                call.Waiter!.Wait(s_pauseAfterClose);
            }
        }
    }

    /// <summary>
    /// Starts a call before its request is serialised, where that needs no waiting. Null when it was not started: it
    /// may have ended with that, or is started later.
    /// </summary>
    public Connection? TryStartAhead(ClientCall call, in RequestHeadInputs target)
    {
        if (call.Waiter is not null && !Connection.MayBlockHere)
        {
            // It may not block here, which it is told before anything is sent.
            return null;
        }

        ValueTask<Connection> connecting = connections.GetAsync(target.IsWaitForReady);
        if (!connecting.IsCompletedSuccessfully)
        {
            // Whoever starts the call later asks again, and hears of a failure.
            _ = connecting.AsTask().Observed();
            return null;
        }

        Connection connection = connecting.Result;
        call.MarkStartedAhead();
        return StartOn(connection, call, target, request: null) == StartResult.Started ? connection : null;
    }

    /// <summary>The connection for a call; null when there is none and the call has ended with that.</summary>
    public static async Task<Connection?> AwaitConnectionAsync(Task<Connection> connecting, ClientCall call)
    {
        try
        {
            // Who waits for a server that does not come must not be remembered beyond the end of the call.
            Task<Connection> waiting = call.Ended is { CanBeCanceled: true } ended && !connecting.IsCompleted
                ? connecting.WaitAsync(ended)
                : connecting;
            return await waiting.ConfigureAwait(false);
        }
        catch (OperationCanceledException) when (call.IsFinished)
        {
            return null;
        }
        catch (Exception exception)
        {
            // Whatever it is: whoever awaits this call must hear of it.
            call.FinishUnsent(StatusMapping.FromStartFailure(exception));
            return null;
        }
    }

    /// <summary>Ends a call that was not started, with what kept it from that.</summary>
    private static void FinishUnlessStarted(StartResult outcome, Connection connection, ClientCall call)
    {
        if (outcome == StartResult.TooManyCalls)
        {
            call.FinishUnsent(StatusMapping.TooManyCalls(connection.PeerLimits));
        }
        else if (outcome == StartResult.Closed)
        {
            call.FinishUnsent(StatusMapping.FromClose(connection.CloseReason!));
        }
    }

    private static bool IsLast(int attempt, in RequestHeadInputs target) =>
        attempt >= MaxAttempts && !target.IsWaitForReady;

    // The context that holds the request is its thread's; what outlives this call needs bytes of its own.
    private static PooledBufferWriter? TakeOver(PooledBufferWriter? request)
    {
        if (request is null)
        {
            return null;
        }

        var own = new PooledBufferWriter();
        own.Write(request.WrittenSpan);
        return own;
    }

    private async Task<Connection?> StartLaterAsync(
        Task<Connection> connecting, ClientCall call, RequestHeadInputs target, PooledBufferWriter? request)
    {
        using (request)
        {
            try
            {
                return await AwaitAndStartAsync(connecting, call, target, request).ConfigureAwait(false);
            }
            catch (Exception exception)
            {
                // Nobody looks at this task; the call's own tells its user what went wrong.
                call.FinishUnsent(StatusMapping.FromStartFailure(exception));
                return null;
            }
        }
    }

    private async Task<Connection?> AwaitAndStartAsync(
        Task<Connection> connecting, ClientCall call, RequestHeadInputs target, PooledBufferWriter? request)
    {
        for (int attempt = 1; ; attempt++)
        {
            if (await AwaitConnectionAsync(connecting, call).ConfigureAwait(false) is not { } connection)
            {
                return null;
            }

            StartResult outcome = StartOn(connection, call, target, request);
            if (outcome != StartResult.Closed || IsLast(attempt, target))
            {
                FinishUnlessStarted(outcome, connection, call);
                return outcome == StartResult.Started ? connection : null;
            }

            await BackOffAsync(attempt, call.Ended).ConfigureAwait(false);
            connecting = connections.GetAsync(target.IsWaitForReady).AsTask();
        }
    }

    // A server that closes what it has just accepted is not to be asked again without a pause, however long it goes on.
    private static Task BackOffAsync(int attempt, CancellationToken ended) => attempt < MaxAttempts
        ? Task.CompletedTask
        : Task.WhenAny(Task.Delay(s_pauseAfterClose, ended));

    private StartResult StartOn(
        Connection connection,
        ClientCall call,
        in RequestHeadInputs target,
        PooledBufferWriter? request,
        bool isDeferred = false)
    {
        if (!call.TryAttach(connection)
            || !RequestHeads.TryEncode(connection, call, target, settings.Codec?.Name, out PooledBufferWriter head))
        {
            return StartResult.GivenUp;
        }

        bool isWhole = request is not null && head.Length + request.Length <= connection.InlineBytes;
        call.MarkStarting(isWhole);
        StartResult outcome = isWhole
            ? connection.StartCall(call, Whole, head.WrittenSpan, request!.WrittenSpan, isDeferred)
            : connection.StartCall(call, FrameFlags.None, head.WrittenSpan, default);
        if (outcome == StartResult.Started && request is not null && !isWhole)
        {
            connection.SendRequest(call, request);
            call.MarkHandedOver();
        }
        else if (outcome == StartResult.TooManyCalls)
        {
            FinishUnlessStarted(outcome, connection, call);
        }

        return outcome;
    }

    /// <summary>
    /// Blocks until there is a connection. Null when the call has ended meanwhile, for want of one or otherwise.
    /// </summary>
    private Connection? WaitForConnection(ClientCall call, bool isWaitForReady)
    {
        ValueTask<Connection> connecting = connections.GetAsync(isWaitForReady);
        if (connecting.IsCompletedSuccessfully)
        {
            return connecting.Result;
        }

        Task<Connection?> waiting = AwaitConnectionAsync(connecting.AsTask(), call);
        waiting.GetAwaiter().UnsafeOnCompleted(call.Waiter!.Signal);
        while (!waiting.IsCompleted && !call.IsDone)
        {
            call.Waiter.Wait(WaitBounds.SafetyTimeout);
        }

        return call.IsDone ? null : waiting.GetAwaiter().GetResult();
    }
}
