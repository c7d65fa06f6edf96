namespace RpcOverShm.Perf.Peer.Arms;

/// <summary>Batches of calls by a generated client, over one channel.</summary>
internal sealed class CallsBatch(ShmChannel channel) : IBatch
{
    private Payload[] _requests = [];
    private long[] _numbers = [];
    private AsyncUnaryCall<Payload>[] _calls = [];
    private Payload[] _replies = [];
    private ExchangeSize _size;
    private long _sequence;

    public void Prepare(int calls, LoadOrder order)
    {
        _size = new ExchangeSize(order.SizeBytes, order.ReplyBytes);
        if (_requests.Length != calls)
        {
            _requests = new Payload[calls];
            _numbers = new long[calls];
            _calls = new AsyncUnaryCall<Payload>[calls];
            _replies = new Payload[calls];
        }

        for (int i = 0; i < calls; i++)
        {
            byte[] bytes = new byte[_size.RequestBytes];
            _numbers[i] = EchoNumber.Make(caller: 0, _size.ReplyBytes, _sequence++);
            PayloadPattern.Fill(bytes, _numbers[i]);
            _requests[i] = new Payload { Data = UnsafeByteOperations.UnsafeWrap(bytes) };
        }
    }

    public async Task CallAsync()
    {
        using ShmCallBatch batch = channel.CreateBatch();
        var client = new Conformance.ConformanceClient(batch.CallInvoker);
        for (int i = 0; i < _requests.Length; i++)
        {
            _calls[i] = client.EchoAsync(_requests[i]);
        }

        await batch.SendAsync();
        for (int i = 0; i < _calls.Length; i++)
        {
            _replies[i] = await _calls[i];
        }
    }

    public long CountWrong()
    {
        long wrong = 0;
        for (int i = 0; i < _replies.Length; i++)
        {
            wrong += PayloadPattern.CountWrong(_replies[i].Data.Span, _numbers[i], _size.ReplyExpected);
        }

        return wrong;
    }
}
