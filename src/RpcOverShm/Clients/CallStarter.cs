using RpcOverShm.Buffers;
using RpcOverShm.Calls;
using RpcOverShm.Connections;
using RpcOverShm.Diagnostics;
using RpcOverShm.Links;
using RpcOverShm.Protocol;
using RpcOverShm.Scheduling;

namespace RpcOverShm.Clients;

/// <summary>
/// Starts calls: gets or awaits a connection, encodes the head, and turns a failure into the status of the call. Has no
/// state per call.
/// </summary>
internal sealed partial class CallStarter(ConnectionProvider connections, ClientSettings settings)
{
    // The number of connections on which a call tries to start: a connection may close before the call uses it.
    private const int MaxAttempts = 3;

    private const FrameFlags Whole = FrameFlags.HasMessage | FrameFlags.HalfClose;

    // The pause between attempts at a server that keeps closing connections it has just accepted.
    private static readonly TimeSpan s_pauseAfterClose = TimeSpan.FromMilliseconds(20);

    /// <summary>A completed task without a connection, as for a call that ended before it was started.</summary>
    public static Task<Connection?> NoConnection { get; } = Task.FromResult<Connection?>(null);

    /// <summary>Starts an awaited call. A null request means a stream of requests.</summary>
    /// <remarks>
    /// The serialised request is used only until this returns. A deferred call may be published with later calls.
    /// </remarks>
    /// <returns>The connection that the call was started on; null if the call ended before.</returns>
    public Task<Connection?> StartAsync(
        ClientCall call, in RequestHeadInputs inputs, PooledBufferWriter? request, bool isDeferred = false)
    {
        ValueTask<Connection> connecting = GetAsync(call, inputs.IsWaitForReady);
        if (!connecting.IsCompletedSuccessfully)
        {
            return StartLaterAsync(connecting.AsTask(), call, inputs, request?.Copy());
        }

        Connection connection = connecting.Result;
        StartResult result = StartOn(connection, call, inputs, request, isDeferred);
        return result switch
        {
            StartResult.Started => connection.AsTask,
            StartResult.Closed => StartLaterAsync(
                GetAsync(call, inputs.IsWaitForReady).AsTask(), call, inputs, request?.Copy(), attempt: 2),

            // The call is already in the queue of that connection, so it precedes later calls of this thread.
            StartResult.WindowFull => StartLaterAsync(Task.FromResult(connection), call, inputs, request!.Copy()),
            _ => NoConnection,
        };
    }

    /// <summary>
    /// Starts a blocking call and returns when it is done. If parts of its request were already sent on
    /// <paramref name="startedOn"/>, sends the rest there.
    /// </summary>
    public void Run(ClientCall call, in RequestHeadInputs inputs, Connection? startedOn, PooledBufferWriter request)
    {
        if (startedOn is not null)
        {
            startedOn.RunStartedCall(call, request);
            return;
        }

        for (int attempt = 1; ; attempt++)
        {
            if (WaitForConnection(call, inputs.IsWaitForReady) is not { } connection)
            {
                return;
            }

            StartResult result = call.IsOneWay
                ? SendOneWay(connection, call, inputs, request)
                : RunOn(connection, call, inputs, request);
            if (result != StartResult.Closed || IsLast(attempt, inputs))
            {
                FinishUnlessStarted(result, connection, call);
                return;
            }

            if (attempt >= MaxAttempts && !call.IsWaitOver)
            {
                call.Latch!.WaitLong(s_pauseAfterClose);
            }
        }
    }

    /// <summary>
    /// Starts a call before its request is serialised, if a connection is available at once. Returns null if the call
    /// was not started: it has ended, or the caller must start it with the complete request.
    /// </summary>
    public Connection? TryStartAhead(ClientCall call, in RequestHeadInputs inputs)
    {
        ValueTask<Connection> connecting = GetAsync(call, inputs.IsWaitForReady);
        if (!connecting.IsCompletedSuccessfully)
        {
            // A failure is only marked as observed: the caller starts the call again and then reports it. A pending
            // task is left alone: its owner observes it, and a continuation here would leak while there is no server.
            if (connecting.IsCompleted)
            {
                _ = connecting.AsTask().Exception;
            }

            return null;
        }

        Connection connection = connecting.Result;
        call.MarkStartedAhead();
        return StartOn(connection, call, inputs, request: null) == StartResult.Started ? connection : null;
    }

    /// <summary>Awaits the connection for a call. Returns null if there is none; the call has then ended.</summary>
    private async Task<Connection?> AwaitConnectionAsync(
        Task<Connection> connecting, ClientCall call, bool isWaitForReady)
    {
        try
        {
            // A call that ends while it waits for a server must not stay referenced by the attempt to connect.
            Task<Connection> waiting = connecting.IsCompleted ? connecting
                : isWaitForReady ? connections.AwaitReadyAsync(connecting, call.Ended)
                : connecting.WaitAsync(call.Ended);
            return await waiting.ConfigureAwait(false);
        }
        catch (OperationCanceledException) when (call.IsFinished)
        {
            return null;
        }
        catch (Exception exception)
        {
            // Any exception must reach the user who awaits this call.
            call.FinishUnsent(StatusMapping.FromStartFailure(exception));
            return null;
        }
    }

    /// <summary>Ends a call that could not be started, unless it has ended; the reason becomes its status.</summary>
    private static void FinishUnlessStarted(StartResult result, Connection connection, ClientCall call)
    {
        if (result == StartResult.TooManyCalls)
        {
            LimitEvents.Count(StatusMapping.CallLimit); // the log entry is that of FinishUnsent
            call.FinishUnsent(StatusMapping.TooManyCalls(connection.PeerLimits));
        }
        else if (result == StartResult.Closed)
        {
            CloseReason reason = connection.CloseReason
                ?? (connection.IsOpenForCalls ? Subchannel.IdleTimeoutReached : Subchannel.ServerLeaving);
            call.FinishUnsent(StatusMapping.FromClose(reason));
        }
    }

    /// <summary>Returns the connection for a call.</summary>
    private ValueTask<Connection> GetAsync(ClientCall call, bool isWaitForReady) =>
        connections.GetAsync(isWaitForReady, call.IsOneWay);

    /// <summary>Whether a call ends after its connection was found closed in this attempt.</summary>
    private static bool IsLast(int attempt, in RequestHeadInputs inputs) =>
        attempt >= MaxAttempts && !inputs.IsWaitForReady;

    /// <summary>Starts a call when there is a connection, and disposes the request, which is a copy.</summary>
    private async Task<Connection?> StartLaterAsync(
        Task<Connection> connecting,
        ClientCall call,
        RequestHeadInputs inputs,
        PooledBufferWriter? request,
        int attempt = 1)
    {
        using PooledBufferWriter? own = request;
        try
        {
            for (; ; attempt++)
            {
                if (await AwaitConnectionAsync(connecting, call, inputs.IsWaitForReady).ConfigureAwait(false)
                    is not { } connection)
                {
                    return null;
                }

                StartResult result = StartOn(connection, call, inputs, request);
                while (result == StartResult.WindowFull)
                {
                    // The end of the call ends the wait, too.
                    await connection.Sender.WhenCapacityMayBeFreeAsync(call).ConfigureAwait(false);
                    result = StartOn(connection, call, inputs, request);
                }

                if (result != StartResult.Closed || IsLast(attempt, inputs))
                {
                    if (result == StartResult.Closed)
                    {
                        FinishUnlessStarted(result, connection, call);
                    }

                    return result == StartResult.Started ? connection : null;
                }

                if (attempt >= MaxAttempts)
                {
                    await Task.Delay(s_pauseAfterClose, call.Ended)
                        .ConfigureAwait(ConfigureAwaitOptions.SuppressThrowing);
                }

                connecting = GetAsync(call, inputs.IsWaitForReady).AsTask();
            }
        }
        catch (Exception exception)
        {
            // This task never fails: the failure becomes the status of the call.
            call.FinishUnsent(StatusMapping.FromStartFailure(exception));
            return null;
        }
    }

    private StartResult StartOn(
        Connection connection,
        ClientCall call,
        in RequestHeadInputs inputs,
        PooledBufferWriter? request,
        bool isDeferred = false)
    {
        if (!call.TryAttach(connection)
            || !inputs.TryEncode(connection, call, settings.Codec?.Name, out PooledBufferWriter head))
        {
            return StartResult.Abandoned;
        }

        bool isWhole = request is not null && head.Length + request.Length <= connection.Sender.SingleRecordBytes;
        if (call.IsOneWay)
        {
            return StartOneWayOn(connection, call, head, request!, isWhole);
        }

        call.MarkStarting(isWhole);
        StartResult result = isWhole
            ? connection.StartCall(call, Whole, head.WrittenSpan, request!.WrittenSpan, isDeferred)
            : connection.StartCall(call, FrameFlags.None, head.WrittenSpan, default);
        if (result == StartResult.Started && request is not null && !isWhole)
        {
            connection.Sender.SendRequest(call, request);
            call.MarkHandedOver();
        }
        else if (result == StartResult.TooManyCalls)
        {
            FinishUnlessStarted(result, connection, call);
        }

        return result;
    }

    private static StartResult StartOneWayOn(
        Connection connection, ClientCall call, PooledBufferWriter head, PooledBufferWriter request, bool isWhole)
    {
        call.Sending.OneWayCost = OneWayCalls.BytesPerCall + request.Length;
        StartResult result = isWhole
            ? connection.StartOneWay(call, Whole | FrameFlags.OneWay, head.WrittenSpan, request.WrittenSpan)
            : connection.StartOneWay(call, FrameFlags.OneWay, head.WrittenSpan, default);
        if (result == StartResult.Started && !isWhole)
        {
            connection.Sender.SendRequest(call, request);
        }

        if (result == StartResult.Started && call.IsRequestKnownComplete)
        {
            call.EndAsSent();
        }

        return result;
    }

    private StartResult RunOn(
        Connection connection, ClientCall call, in RequestHeadInputs inputs, PooledBufferWriter request)
    {
        if (!call.TryAttach(connection)
            || !inputs.TryEncode(connection, call, settings.Codec?.Name, out PooledBufferWriter head))
        {
            return StartResult.Abandoned;
        }

        return head.Length + request.Length <= connection.Sender.SingleRecordBytes
            ? connection.RunCall(call, Whole, head.WrittenSpan, request.WrittenSpan, largeMessage: null)
            : connection.RunCall(call, FrameFlags.None, head.WrittenSpan, default, request);
    }

    /// <summary>Sends a blocking one-way call, and returns when it is done: when it is sent.</summary>
    private StartResult SendOneWay(
        Connection connection, ClientCall call, in RequestHeadInputs inputs, PooledBufferWriter request)
    {
        StartResult result;
        while ((result = StartOn(connection, call, inputs, request)) == StartResult.WindowFull)
        {
            Wait(connection.Sender.WhenCapacityMayBeFreeAsync(call), call);
        }

        while (result == StartResult.Started && !call.IsWaitOver)
        {
            Sleep(call);
        }

        return result;
    }

    /// <summary>Blocks until there is a connection. Returns null if the call has ended meanwhile.</summary>
    private Connection? WaitForConnection(ClientCall call, bool isWaitForReady)
    {
        ValueTask<Connection> connecting = GetAsync(call, isWaitForReady);
        if (connecting.IsCompletedSuccessfully)
        {
            return connecting.Result;
        }

        Task<Connection?> waiting = AwaitConnectionAsync(connecting.AsTask(), call, isWaitForReady);
        Wait(waiting, call);
        return call.IsWaitOver ? null : waiting.GetAwaiter().GetResult();
    }

    /// <summary>
    /// Blocks until a task has completed or the call is done. The deadline of the call ends the wait, too.
    /// </summary>
    private static void Wait(Task waiting, ClientCall call)
    {
        waiting.ConfigureAwait(false).GetAwaiter().UnsafeOnCompleted(call.Latch!.Signal);
        while (!waiting.IsCompleted && !call.IsWaitOver)
        {
            Sleep(call);
        }
    }

    private static void Sleep(ClientCall call)
    {
        LoopThread.LeaveLoopBeforeSleep();
        call.Latch!.Wait(WaitBounds.Within(call.Remaining));
        if (call.Remaining <= TimeSpan.Zero)
        {
            call.OnDeadline();
        }
    }
}
