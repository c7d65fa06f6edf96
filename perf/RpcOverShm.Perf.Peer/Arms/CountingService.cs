namespace RpcOverShm.Perf.Peer.Arms;

/// <summary>The generated service, which counts the messages of a client and confirms that it has them.</summary>
internal sealed class CountingService : CheckedService
{
    private static readonly object s_key = new();

    public override Task<Payload> Echo(Payload request, ServerCallContext context)
    {
        ServedTally.CountRequest(request.Data.Span);
        Of(context).Count();
        return Task.FromResult(request);
    }

    /// <summary>Returns when as many messages have come as the request says.</summary>
    public override async Task<Payload> Delay(DelayRequest request, ServerCallContext context)
    {
        await Of(context).WaitForAsync(request.Milliseconds);
        return new Payload();
    }

    private static Counter Of(ServerCallContext context) =>
        (Counter)context.GetShmSession().Items.GetOrAdd(s_key, static _ => new Counter())!;

    private sealed class Counter
    {
        private readonly Lock _gate = new();
        private TaskCompletionSource? _all;
        private long _missing;

        public void Count()
        {
            lock (_gate)
            {
                if (--_missing == 0)
                {
                    _all?.SetResult();
                }
            }
        }

        public Task WaitForAsync(long messages)
        {
            lock (_gate)
            {
                _missing += messages;
                _all = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
                return _missing == 0 ? Task.CompletedTask : _all.Task;
            }
        }
    }
}
