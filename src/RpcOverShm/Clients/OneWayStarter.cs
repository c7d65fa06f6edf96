using RpcOverShm.Buffers;
using RpcOverShm.Calls;
using RpcOverShm.Connections;
using RpcOverShm.Sending;

namespace RpcOverShm.Clients;

/// <summary>
/// Takes one-way calls to a connection. A call for which the server has no room waits for its turn there, or goes to
/// the next connection when that one takes no more calls. Keeps no state of a call.
/// </summary>
internal sealed class OneWayStarter(CallStarter starter, ClientSettings settings)
{
    /// <summary>Starts an awaited call.</summary>
    /// <returns>Completes when the call is on its way or has ended. Does not fail.</returns>
    public Task<Connection?> Start<TRequest, TResponse>(
        OneWayCall call, ClientMethod<TRequest, TResponse> method, in RequestHeadInputs target, TRequest request)
        where TRequest : class
        where TResponse : class
    {
        if (method.TrySerialize(call, target, request, parts: null) is not { } context)
        {
            return CallStarter.None;
        }

        using (context)
        {
            OneWayTurn? turn = null;
            ValueTask<Connection> connecting = starter.GetAsync(target.IsWaitForReady);
            if (!connecting.IsCompletedSuccessfully)
            {
                return StartLaterAsync(call, target, context.Bytes.Copy(), connecting.AsTask(), null, null);
            }

            // Here, and not later, a call that must wait takes its turn: before the next one of this thread.
            Connection connection = connecting.Result;
            StartResult outcome = StartOn(connection, call, target, context.Bytes, ref turn);
            if (outcome is StartResult.NoCredit or StartResult.Closed)
            {
                return StartLaterAsync(call, target, context.Bytes.Copy(), null, connection, turn);
            }

            CallStarter.FinishUnlessStarted(outcome, connection, call);
            return CallStarter.None;
        }
    }

    /// <summary>Starts a blocking call, whose waiter is this thread's latch, and returns when it is done.</summary>
    public void Run<TRequest, TResponse>(
        OneWayCall call, ClientMethod<TRequest, TResponse> method, in RequestHeadInputs target, TRequest request)
        where TRequest : class
        where TResponse : class
    {
        if (method.TrySerialize(call, target, request, parts: null) is not { } context)
        {
            return;
        }

        using (context)
        {
            Run(call, target, context.Bytes);
        }
    }

    private void Run(OneWayCall call, in RequestHeadInputs target, PooledBufferWriter request)
    {
        Connection? connection = null;
        OneWayTurn? turn = null;
        try
        {
            for (int attempt = 1; ;)
            {
                if (turn is not null)
                {
                    CallStarter.Wait(turn.Due, call);
                }
                else if ((connection = starter.WaitForConnection(call, target.IsWaitForReady)) is null)
                {
                    return;
                }

                StartResult outcome = StartOn(connection!, call, target, request, ref turn);
                if (outcome == StartResult.NoCredit)
                {
                    continue;
                }

                if (outcome == StartResult.Started)
                {
                    CallStarter.WaitUntilDone(call);
                    return;
                }

                if (outcome != StartResult.Closed || CallStarter.IsLast(attempt, target))
                {
                    CallStarter.FinishUnlessStarted(outcome, connection!, call);
                    return;
                }

                if (attempt++ >= CallStarter.MaxAttempts && !call.IsDone)
                {
                    call.Waiter!.WaitLong(CallStarter.PauseAfterClose);
                }
            }
        }
        finally
        {
            LeaveTurn(connection, turn);
        }
    }

    /// <summary>Starts a call when it may, and disposes the request, which is a copy.</summary>
    private async Task<Connection?> StartLaterAsync(
        OneWayCall call,
        RequestHeadInputs target,
        PooledBufferWriter request,
        Task<Connection>? connecting,
        Connection? connection,
        OneWayTurn? turn)
    {
        using PooledBufferWriter own = request;
        try
        {
            for (int attempt = 1; ;)
            {
                if (turn is not null)
                {
                    await WaitAsync(turn.Due, call).ConfigureAwait(false);
                }
                else
                {
                    connecting ??= starter.GetAsync(target.IsWaitForReady).AsTask();
                    connection = await starter.AwaitConnectionAsync(connecting, call, target.IsWaitForReady)
                        .ConfigureAwait(false);
                    connecting = null;
                    if (connection is null)
                    {
                        return null;
                    }
                }

                StartResult outcome = StartOn(connection!, call, target, own, ref turn);
                if (outcome == StartResult.NoCredit)
                {
                    continue;
                }

                if (outcome != StartResult.Closed || CallStarter.IsLast(attempt, target))
                {
                    CallStarter.FinishUnlessStarted(outcome, connection!, call);
                    return connection;
                }

                if (attempt++ >= CallStarter.MaxAttempts)
                {
                    await Task.WhenAny(Task.Delay(CallStarter.PauseAfterClose, call.Ended)).ConfigureAwait(false);
                }
            }
        }
        catch (Exception exception)
        {
            // This task never fails: the failure becomes the status of the call.
            call.FinishUnsent(StatusMapping.FromStartFailure(exception));
            return null;
        }
        finally
        {
            LeaveTurn(connection, turn);
        }
    }

    // Left after an exception, such as that of an interrupted thread: it would keep all later calls from their own.
    private static void LeaveTurn(Connection? connection, OneWayTurn? turn)
    {
        if (turn is not null)
        {
            connection!.LeaveOneWay(turn);
        }
    }

    private static async Task WaitAsync(Task due, OneWayCall call)
    {
        try
        {
            await due.WaitAsync(call.Ended).ConfigureAwait(false);
        }
        catch (OperationCanceledException) when (call.IsFinished)
        {
            // The caller finds the call ended, and leaves its turn.
        }
    }

    private StartResult StartOn(
        Connection connection,
        OneWayCall call,
        in RequestHeadInputs target,
        PooledBufferWriter request,
        ref OneWayTurn? turn)
    {
        if (!call.TryAttach(connection)
            || !RequestHeads.TryEncode(connection, call, target, settings.Codec?.Name, out PooledBufferWriter head))
        {
            if (turn is not null)
            {
                connection.LeaveOneWay(turn);
                turn = null;
            }

            return StartResult.GivenUp;
        }

        bool isWhole = head.Length + request.Length <= connection.InlineBytes;
        StartResult outcome = isWhole
            ? connection.StartOneWay(call, head.WrittenSpan, request.WrittenSpan, large: null, ref turn)
            : connection.StartOneWay(call, head.WrittenSpan, default, request, ref turn);
        if (outcome == StartResult.Started && call.IsAllSent)
        {
            call.EndAsSent();
        }

        return outcome;
    }
}
