using System.Text;
using Grpc.Core;
using RpcOverShm.Calls;
using RpcOverShm.Connections;
using RpcOverShm.Protocol;

namespace RpcOverShm.Clients;

/// <summary>
/// How a call gets from the invoker onto a connection: the deadline is checked, the request serialised, a connection
/// found or awaited, the head encoded, and what goes wrong becomes the call's status. Holds nothing of a call.
/// </summary>
internal sealed class CallStarter(ConnectionSource connections, ClientSettings settings)
{
    // A connection may close between being found and being used; a call that was not sent may try another.
    private const int MaxAttempts = 3;

    // Its length has 16 bits on the wire.
    private const int LongestHostBytes = ushort.MaxValue;
    private const int LongestUtf8Char = 3;

    [ThreadStatic]
    private static PooledBufferWriter? s_head;

    /// <summary>Starts a call that nobody blocks for.</summary>
    /// <param name="call">The call.</param>
    /// <param name="fullName">The method, as bytes.</param>
    /// <param name="host">The authority that the caller has set; null for none.</param>
    /// <param name="options">The call's.</param>
    /// <param name="request">The serialised request; null where requests are a stream.</param>
    /// <returns>The connection that the call was started on; null when it ended before.</returns>
    public Task<Connection?> Start(
        ClientCall call, byte[] fullName, string? host, in CallOptions options, PooledBufferWriter? request)
    {
        ValueTask<Connection> connecting = connections.GetAsync();
        if (!connecting.IsCompletedSuccessfully)
        {
            return StartLaterAsync(connecting.AsTask(), call, fullName, host, options, TakeOver(request));
        }

        Connection connection = connecting.Result;
        StartOutcome outcome = StartOn(connection, call, fullName, host, options, request);
        return outcome == StartOutcome.Closed
            ? StartLaterAsync(connections.GetAsync().AsTask(), call, fullName, host, options, TakeOver(request))
            : Task.FromResult(outcome == StartOutcome.Started ? connection : null);
    }

    /// <summary>Starts a call and returns when it is done.</summary>
    public void Run(ClientCall call, byte[] fullName, string? host, in CallOptions options, PooledBufferWriter request)
    {
        for (int attempt = 1; ; attempt++)
        {
            if (WaitForConnection(call) is not { } connection || !call.TryAttach(connection))
            {
                return;
            }

            if (!TryEncodeHead(connection, call, fullName, host, options, out PooledBufferWriter head))
            {
                return;
            }

            bool isInline = head.Length + request.Length <= connection.InlineBytes;
            StartOutcome outcome = isInline
                ? connection.RunCall(
                    call, FrameFlags.HasMessage | FrameFlags.HalfClose, head.WrittenSpan, request.WrittenSpan, null)
                : connection.RunCall(call, FrameFlags.None, head.WrittenSpan, default, request);
            if (outcome != StartOutcome.Closed || attempt == MaxAttempts)
            {
                FinishUnlessStarted(outcome, connection, call);
                return;
            }
        }
    }

    private static async Task<Connection?> AwaitConnectionAsync(Task<Connection> connecting, ClientCall call)
    {
        try
        {
            return await connecting.ConfigureAwait(false);
        }
        catch (ConnectException exception)
        {
            call.FinishUnsent(StatusMapping.FromConnectFailure(exception));
        }
        catch (ObjectDisposedException)
        {
            call.FinishUnsent(StatusMapping.Disposed);
        }
        catch (Exception exception)
        {
            // Nothing else is expected; but whoever awaits this call must hear of it.
            call.FinishUnsent(StatusMapping.FromUnexpected(exception));
        }

        return null;
    }

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
        Task<Connection> connecting,
        ClientCall call,
        byte[] fullName,
        string? host,
        CallOptions options,
        PooledBufferWriter? request)
    {
        using (request)
        {
            try
            {
                return await AwaitAndStartAsync(connecting, call, fullName, host, options, request)
                    .ConfigureAwait(false);
            }
            catch (Exception exception)
            {
                // Nobody looks at this task; the call's own tells its user what went wrong.
                call.FinishUnsent(exception is ObjectDisposedException
                    ? StatusMapping.Disposed
                    : StatusMapping.FromUnexpected(exception));
                return null;
            }
        }
    }

    private async Task<Connection?> AwaitAndStartAsync(
        Task<Connection> connecting,
        ClientCall call,
        byte[] fullName,
        string? host,
        CallOptions options,
        PooledBufferWriter? request)
    {
        for (int attempt = 1; ; attempt++)
        {
            if (await AwaitConnectionAsync(connecting, call).ConfigureAwait(false) is not { } connection)
            {
                return null;
            }

            StartOutcome outcome = StartOn(connection, call, fullName, host, options, request);
            if (outcome != StartOutcome.Closed || attempt == MaxAttempts)
            {
                FinishUnlessStarted(outcome, connection, call);
                return outcome == StartOutcome.Started ? connection : null;
            }

            connecting = connections.GetAsync().AsTask();
        }
    }

    private StartOutcome StartOn(
        Connection connection,
        ClientCall call,
        byte[] fullName,
        string? host,
        in CallOptions options,
        PooledBufferWriter? request)
    {
        if (!call.TryAttach(connection)
            || !TryEncodeHead(connection, call, fullName, host, options, out PooledBufferWriter head))
        {
            return StartOutcome.GivenUp;
        }

        if (request is not null && head.Length + request.Length <= connection.InlineBytes)
        {
            return Checked(
                connection.StartCall(
                    call, FrameFlags.HasMessage | FrameFlags.HalfClose, head.WrittenSpan, request.WrittenSpan),
                connection,
                call);
        }

        StartOutcome outcome = Checked(
            connection.StartCall(call, FrameFlags.None, head.WrittenSpan, default),
            connection,
            call);
        if (outcome == StartOutcome.Started && request is not null)
        {
            _ = connection.SendMessageAsync(call, FrameFlags.HalfClose, request);
        }

        return outcome;
    }

    private static StartOutcome Checked(StartOutcome outcome, Connection connection, ClientCall call)
    {
        if (outcome == StartOutcome.TooManyCalls)
        {
            FinishUnlessStarted(outcome, connection, call);
        }

        return outcome;
    }

    private static void FinishUnlessStarted(StartOutcome outcome, Connection connection, ClientCall call)
    {
        if (outcome == StartOutcome.TooManyCalls)
        {
            call.FinishUnsent(StatusMapping.TooManyCalls(connection.PeerLimits));
        }
        else if (outcome == StartOutcome.Closed)
        {
            call.FinishUnsent(StatusMapping.FromClose(connection.CloseReason!));
        }
    }

    /// <summary>
    /// Blocks until there is a connection. Null when the call has ended meanwhile, for want of one or otherwise.
    /// </summary>
    private Connection? WaitForConnection(ClientCall call)
    {
        ValueTask<Connection> connecting = connections.GetAsync();
        if (connecting.IsCompletedSuccessfully)
        {
            return connecting.Result;
        }

        Task<Connection?> waiting = AwaitConnectionAsync(connecting.AsTask(), call);
        waiting.GetAwaiter().UnsafeOnCompleted(call.Waiter!.Signal);
        while (!waiting.IsCompleted && !call.IsDone)
        {
            call.Waiter.Wait(WaitBounds.Backstop);
        }

        return call.IsDone ? null : waiting.GetAwaiter().GetResult();
    }

    private bool TryEncodeHead(
        Connection connection,
        ClientCall call,
        byte[] fullName,
        string? host,
        in CallOptions options,
        out PooledBufferWriter head)
    {
        head = s_head ??= new PooledBufferWriter();
        head.Clear();
        if (host?.Length > LongestHostBytes / LongestUtf8Char && Encoding.UTF8.GetByteCount(host) > LongestHostBytes)
        {
            call.FinishUnsent(new Status(StatusCode.Internal, $"The host has more than {LongestHostBytes} bytes."));
            return false;
        }

        Metadata? metadata = options.Headers is { Count: > 0 } headers ? headers : null;
        if (metadata is not null)
        {
            if (MetadataCodec.Check(metadata) is { } problem)
            {
                call.FinishUnsent(new Status(StatusCode.Internal, problem));
                return false;
            }

            if (MetadataCodec.MeasureBytes(metadata) > connection.PeerLimits.MaxMetadataBytes)
            {
                call.FinishUnsent(StatusMapping.MetadataTooLarge(
                    "The request's metadata", connection.PeerLimits.MaxMetadataBytes));
                return false;
            }
        }

        var content = new RequestHead
        {
            Method = fullName,
            Timeout = call.Remaining is { } remaining ? Max(remaining, TimeSpan.FromTicks(1)) : null,
            Codec = settings.Codec?.Name,
            Host = host,
            Metadata = metadata,
        };
        content.Encode(head);
        return true;
    }

    private static TimeSpan Max(TimeSpan one, TimeSpan other) => one > other ? one : other;
}
