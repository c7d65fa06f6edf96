using Grpc.Core;
using RpcOverShm.Calls;
using RpcOverShm.Connections;
using RpcOverShm.Protocol;

namespace RpcOverShm.Clients;

/// <summary>
/// Unary calls that were recorded and go out together. Each has its request serialised and its deadline running from
/// when it was recorded, and ends by itself. Sent once, or given up. Any thread may record.
/// </summary>
internal sealed class CallBatch(ConnectionSource connections, ClientSettings settings) : IDisposable
{
    private readonly Lock _gate = new();
    private readonly PooledBufferWriter _requests = new();
    private List<Recorded>? _recorded = [];

    public CredentialedCalls Credentials { get; } = new(settings);

    /// <summary>Records a call. False when the batch was sent or given up.</summary>
    /// <param name="call">The call.</param>
    /// <param name="target">What its head is made of.</param>
    /// <param name="credentials">Its own; null for none.</param>
    /// <param name="request">Its request, serialised.</param>
    public bool TryRecord(
        ClientCall call, in CallTarget target, CallCredentials? credentials, ReadOnlySpan<byte> request)
    {
        lock (_gate)
        {
            if (_recorded is null)
            {
                return false;
            }

            _recorded.Add(new Recorded(call, target, credentials, _requests.Length, request.Length));
            _requests.Write(request);
            return true;
        }
    }

    /// <summary>
    /// Sends the calls. Completes when all that were not ended before are on their way. False when sent before.
    /// </summary>
    public async Task<bool> TrySendAsync()
    {
        if (Close() is not { } recorded)
        {
            return false;
        }

        using (_requests)
        {
            if (recorded.Count > 0)
            {
                await SendAsync(recorded).ConfigureAwait(false);
            }
        }

        return true;
    }

    /// <summary>Gives up what was not sent: the calls end cancelled.</summary>
    public void Dispose()
    {
        if (Close() is not { } recorded)
        {
            return;
        }

        foreach (Recorded one in recorded)
        {
            one.Call.Dispose();
        }

        _requests.Dispose();
    }

    private List<Recorded>? Close()
    {
        lock (_gate)
        {
            List<Recorded>? recorded = _recorded;
            _recorded = null;
            return recorded;
        }
    }

    private async Task SendAsync(List<Recorded> recorded)
    {
        Connection? connection = await TryConnectAsync(recorded, isWaitForReady: false).ConfigureAwait(false);
        if (connection is null)
        {
            recorded = recorded.FindAll(one => one.Target.IsWaitForReady);
            connection = recorded.Count > 0
                ? await TryConnectAsync(recorded, isWaitForReady: true).ConfigureAwait(false)
                : null;
        }

        if (connection is not null)
        {
            Recorded?[] ready = await Task.WhenAll(recorded.Select(WithCredentialsAsync)).ConfigureAwait(false);
            await Task.WhenAll(Send(connection, [.. ready.OfType<Recorded>()])).ConfigureAwait(false);
        }
    }

    /// <summary>The call with the metadata that its credentials add; null when it has ended with that.</summary>
    private async Task<Recorded?> WithCredentialsAsync(Recorded one)
    {
        if (one.Credentials is null && settings.Credentials.Count == 0)
        {
            return one;
        }

        CallTarget target = one.Target;
        await Credentials.StartAsync(one.Call, target, one.Credentials, withMetadata =>
        {
            target = withMetadata;
            return CallStarter.None;
        }).ConfigureAwait(false);
        return one.Call.IsFinished ? null : one with { Target = target };
    }

    // Calls that wait for ready tell of their end.
    private static async Task WhenEndedAsync(Recorded one)
    {
        var ended = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
        using (one.Call.Ended.UnsafeRegister(static source => ((TaskCompletionSource)source!).SetResult(), ended))
        {
            await ended.Task.ConfigureAwait(false);
        }
    }

    /// <summary>Null when there is no connection; then the calls have ended that do not wait for one.</summary>
    private async Task<Connection?> TryConnectAsync(List<Recorded> recorded, bool isWaitForReady)
    {
        try
        {
            Task<Connection> connecting = connections.GetAsync(isWaitForReady).AsTask();
            Task ended = isWaitForReady ? Task.WhenAll(recorded.Select(WhenEndedAsync)) : connecting;
            await Task.WhenAny(connecting, ended).ConfigureAwait(false);
            return connecting.IsCompleted ? await connecting.ConfigureAwait(false) : null;
        }
        catch (Exception exception)
        {
            Status status = StatusMapping.FromStartFailure(exception);
            recorded.FindAll(one => isWaitForReady || !one.Target.IsWaitForReady)
                .ForEach(one => one.Call.FinishUnsent(status));
            return null;
        }
    }

    /// <summary>
    /// Writes the first frames in one, then what was too large for them. Returns the writes that wait.
    /// </summary>
    private List<Task<bool>> Send(Connection connection, List<Recorded> recorded)
    {
        using var bytes = new PooledBufferWriter();
        var entries = new List<BatchEntry>(recorded.Count);
        var large = new List<Recorded>();
        bytes.Reserve(_requests.Length);
        foreach (Recorded one in recorded)
        {
            try
            {
                Append(connection, one, bytes, entries, large);
            }
            catch (Exception exception)
            {
                // Its metadata, which is the caller's, may be changed while it is read. The others go.
                one.Call.FinishUnsent(StatusMapping.FromUnexpected(exception));
            }
        }

        BatchEntry[] all = [.. entries];
        connection.StartCalls(all, bytes.WrittenSpan);
        foreach (BatchEntry entry in all)
        {
            CallStarter.FinishUnlessStarted(entry.Outcome, connection, (ClientCall)entry.Call);
        }

        return large.ConvertAll(one => SendLarge(connection, one));
    }

    private void Append(
        Connection connection,
        Recorded one,
        PooledBufferWriter bytes,
        List<BatchEntry> entries,
        List<Recorded> large)
    {
        int offset = bytes.Length;
        if (!one.Call.TryAttach(connection)
            || !RequestHeads.TryAppend(bytes, connection, one.Call, one.Target, settings.Codec?.Name))
        {
            return;
        }

        int headLength = bytes.Length - offset;
        bool isWhole = headLength + one.Length <= connection.InlineBytes;
        if (isWhole)
        {
            bytes.Write(_requests.Written(one.Offset, one.Length));
        }
        else
        {
            large.Add(one);
        }

        entries.Add(new BatchEntry
        {
            Call = one.Call,
            Offset = offset,
            HeadLength = headLength,
            MessageLength = isWhole ? one.Length : 0,
            IsWhole = isWhole,
        });
    }

    private Task<bool> SendLarge(Connection connection, Recorded one)
    {
        using var request = new PooledBufferWriter();
        request.Write(_requests.Written(one.Offset, one.Length));
        return connection.SendRequestAsync(one.Call, request);
    }

    private readonly record struct Recorded(
        ClientCall Call, CallTarget Target, CallCredentials? Credentials, int Offset, int Length);
}
