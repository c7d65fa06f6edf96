namespace RpcOverShm.Perf.Peer.Arms;

/// <summary>The client's end of a client-streaming call by a generated client.</summary>
internal sealed class CallsDrain(Conformance.ConformanceClient client) : IDrain
{
    public void Send(long messages, int sizeBytes) => throw new NotSupportedException();

    public async Task SendAsync(long messages, int sizeBytes)
    {
        using AsyncClientStreamingCall<Payload, DrainReply> call = client.Drain();
        using var source = PumpMessages.OfSize(sizeBytes);
        for (long i = 0; i < messages; i++)
        {
            // A message has been serialised when its write completes, so its bytes can be used again.
            ByteString data = UnsafeByteOperations.UnsafeWrap(source.Next(i));
            await call.RequestStream.WriteAsync(new Payload { Data = data });
        }

        await call.RequestStream.CompleteAsync();
        DrainReply reply = await call.ResponseAsync;
        if (reply.Messages != messages)
        {
            throw new InvalidDataException($"The server took {reply.Messages} messages instead of {messages}.");
        }
    }
}
