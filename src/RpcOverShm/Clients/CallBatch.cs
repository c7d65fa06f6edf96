using Grpc.Core;
using RpcOverShm.Calls;
using RpcOverShm.Connections;
using RpcOverShm.Protocol;

namespace RpcOverShm.Clients;

/// <summary>
/// Unary calls that were recorded and go out together. Each has its request serialised and its deadline running from
/// when it was recorded, and ends by itself. Sent once, or given up. Any thread may record.
/// </summary>
internal sealed class CallBatch(
    ConnectionSource connections, CallStarter starter, CredentialedCalls credentials, ClientSettings settings)
    : IDisposable
{
    private readonly Lock _gate = new();
    private readonly PooledBufferWriter _requests = new();
    private List<Recorded>? _recorded = [];

    public CredentialedCalls Credentials => credentials;

    /// <summary>Records a call. False when the batch was sent or given up.</summary>
    /// <param name="call">The call.</param>
    /// <param name="target">What its head is made of.</param>
    /// <param name="own">Its own credentials; null for none.</param>
    /// <param name="request">Its request, serialised.</param>
    public bool TryRecord(
        ClientCall call, in CallTarget target, CallCredentials? own, ReadOnlySpan<byte> request)
    {
        lock (_gate)
        {
            if (_recorded is null)
            {
                return false;
            }

            _recorded.Add(new Recorded(call, target, own, _requests.Length, request.Length));
            _requests.Write(request);
            return true;
        }
    }

    /// <summary>
    /// Sends the calls. Completes when all that were not ended before are on their way, but for those whose credentials
    /// are still asked for: they follow by themselves. False when sent before.
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
        List<Recorded> ready = AddCredentials(recorded);
        Connection? connection = ready.Count > 0
            ? await TryConnectAsync(ready, isWaitForReady: false).ConfigureAwait(false)
            : null;
        if (connection is null)
        {
            ready = ready.FindAll(one => one.Target.IsWaitForReady);
            connection = ready.Count > 0
                ? await TryConnectAsync(ready, isWaitForReady: true).ConfigureAwait(false)
                : null;
        }

        if (connection is not null)
        {
            await Task.WhenAll(Send(connection, ready)).ConfigureAwait(false);
        }
    }

    /// <summary>
    /// The calls that can go now, with the metadata of their credentials. Whose credentials are not there at once goes
    /// when they are: the others do not wait for it.
    /// </summary>
    private List<Recorded> AddCredentials(List<Recorded> recorded)
    {
        var ready = new List<Recorded>(recorded.Count);
        foreach (Recorded one in recorded)
        {
            if (one.Own is null && settings.Credentials.Count == 0)
            {
                ready.Add(one);
                continue;
            }

            Task<CallTarget?> adding = credentials.AddAsync(one.Call, one.Target, one.Own);
            if (!adding.IsCompletedSuccessfully)
            {
                _ = SendLaterAsync(one, adding, RequestOf(one));
            }
            else if (adding.Result is { } target)
            {
                ready.Add(one with { Target = target });
            }
        }

        return ready;
    }

    private async Task SendLaterAsync(Recorded one, Task<CallTarget?> adding, PooledBufferWriter request)
    {
        using (request)
        {
            if (await adding.ConfigureAwait(false) is { } target)
            {
                await StartAsync(one with { Target = target }, request).ConfigureAwait(false);
            }
        }
    }

    /// <summary>Starts a call as one that was never in a batch.</summary>
    private async Task StartAsync(Recorded one, PooledBufferWriter request)
    {
        try
        {
            await starter.Start(one.Call, one.Target, request).ConfigureAwait(false);
        }
        catch (Exception exception)
        {
            // Whatever it is: nobody else is there to be told.
            one.Call.FinishUnsent(StatusMapping.FromStartFailure(exception));
        }
    }

    private async Task StartAgainAsync(Recorded one)
    {
        using PooledBufferWriter request = RequestOf(one);
        await StartAsync(one, request).ConfigureAwait(false);
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
    /// Writes the first frames in one, then what was too large for them. Returns what still goes on: writes that wait,
    /// and calls that go over another connection because this one was closed.
    /// </summary>
    private List<Task> Send(Connection connection, List<Recorded> recorded)
    {
        using var bytes = new PooledBufferWriter();
        var entries = new List<BatchEntry>(recorded.Count);
        var entered = new List<Recorded>(recorded.Count);
        bytes.Reserve(_requests.Length);
        foreach (Recorded one in recorded)
        {
            try
            {
                if (TryAppend(connection, one, bytes, entries))
                {
                    entered.Add(one);
                }
            }
            catch (Exception exception)
            {
                // Nobody foresaw it. The others go.
                one.Call.FinishUnsent(StatusMapping.FromUnexpected(exception));
            }
        }

        BatchEntry[] all = [.. entries];
        connection.StartCalls(all, bytes.WrittenSpan);
        var rest = new List<Task>();
        for (int i = 0; i < all.Length; i++)
        {
            if (all[i].Outcome == StartOutcome.Closed)
            {
                rest.Add(StartAgainAsync(entered[i]));
            }
            else if (all[i].Outcome != StartOutcome.Started)
            {
                CallStarter.FinishUnlessStarted(all[i].Outcome, connection, entered[i].Call);
            }
            else if (!all[i].IsWhole)
            {
                rest.Add(SendLarge(connection, entered[i]));
            }
        }

        return rest;
    }

    /// <summary>Appends the first frame of a call. False when the call has ended, if only with that.</summary>
    private bool TryAppend(Connection connection, Recorded one, PooledBufferWriter bytes, List<BatchEntry> entries)
    {
        int offset = bytes.Length;
        if (!one.Call.TryAttach(connection)
            || !RequestHeads.TryAppend(bytes, connection, one.Call, one.Target, settings.Codec?.Name))
        {
            return false;
        }

        int headLength = bytes.Length - offset;
        bool isWhole = headLength + one.Length <= connection.InlineBytes;
        if (isWhole)
        {
            bytes.Write(_requests.Written(one.Offset, one.Length));
        }

        entries.Add(new BatchEntry
        {
            Call = one.Call,
            Offset = offset,
            HeadLength = headLength,
            MessageLength = isWhole ? one.Length : 0,
            IsWhole = isWhole,
        });
        return true;
    }

    private Task<bool> SendLarge(Connection connection, Recorded one)
    {
        using PooledBufferWriter request = RequestOf(one);
        return connection.SendRequestAsync(one.Call, request);
    }

    private PooledBufferWriter RequestOf(Recorded one)
    {
        var request = new PooledBufferWriter();
        request.Write(_requests.Written(one.Offset, one.Length));
        return request;
    }

    private readonly record struct Recorded(
        ClientCall Call, CallTarget Target, CallCredentials? Own, int Offset, int Length);
}
