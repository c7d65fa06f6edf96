namespace RpcOverShm.Perf.Peer.Arms;

/// <summary>The service of all gRPC arms: what comes in is checked, what goes out can be.</summary>
internal sealed class CheckedService : Conformance.ConformanceBase
{
    public override Task<Payload> Echo(Payload request, ServerCallContext context)
    {
        ReadOnlySpan<byte> bytes = request.Data.Span;
        ServedTally.CountRequest(bytes);
        int size = EchoNumber.ReplyBytes(bytes);
        if (size == LoadOrder.SameAsRequest)
        {
            return Task.FromResult(request);
        }

        byte[] reply = GC.AllocateUninitializedArray<byte>(size);
        EchoNumber.FillReply(reply, bytes);
        return Task.FromResult(new Payload { Data = UnsafeByteOperations.UnsafeWrap(reply) });
    }

    public override async Task Pump(
        PumpRequest request, IServerStreamWriter<Payload> responseStream, ServerCallContext context)
    {
        using var messages = PumpMessages.OfSize(request.MessageBytes);
        for (long i = 0; i < request.Messages; i++)
        {
            // A message has been serialised when its write completes, so its bytes can be used again.
            ByteString data = UnsafeByteOperations.UnsafeWrap(messages.Next(i));
            await responseStream.WriteAsync(new Payload { Data = data });
        }
    }

    public override async Task<DrainReply> Drain(
        IAsyncStreamReader<Payload> requestStream, ServerCallContext context)
    {
        var reply = new DrainReply();
        while (await requestStream.MoveNext(CancellationToken.None))
        {
            ServedTally.CountRequest(requestStream.Current.Data.Span);
            reply.Messages++;
        }

        return reply;
    }
}
