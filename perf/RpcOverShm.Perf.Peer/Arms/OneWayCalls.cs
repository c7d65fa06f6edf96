namespace RpcOverShm.Perf.Peer.Arms;

/// <summary>
/// The generated service, whose messages are sent one way as calls, each of which is on its way when it returns.
/// </summary>
internal sealed class OneWayCalls : CallsService
{
    public override bool HasStreams => true;

    public override ServerServiceDefinition Bind() => Conformance.BindService(new CountingService());

    public override IEcho OpenEcho(ChannelBase channel) => new GeneratedCalls().OpenEcho(channel);

    public override IDrain OpenDrain(ChannelBase channel) => new Drain((ShmChannel)channel);

    private sealed class Drain(ShmChannel channel) : IDrain
    {
        private readonly Conformance.ConformanceClient _oneWay = new(channel.CreateOneWayInvoker());
        private readonly Conformance.ConformanceClient _client = new(channel);

        // Blocking, as a caller that keeps its order is: a call returns when its request is in the ring.
        public async Task<long> SendAsync(long messages, int sizeBytes)
        {
            using var source = PumpMessages.OfSize(sizeBytes);
            for (long i = 0; i < messages; i++)
            {
                _oneWay.Echo(CheckedService.Form.Make(source.Next(i)));
            }

            // The server answers when it has as many.
            await _client.DelayAsync(new DelayRequest { Milliseconds = (int)messages });
            return messages;
        }
    }
}

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
