namespace RpcOverShm.Perf.Peer.Arms;

/// <summary>The client's end of a server-streaming call by a generated client.</summary>
internal sealed class CallsPump(Conformance.ConformanceClient client) : IPump
{
    public void Receive(long messages, int sizeBytes, PumpSink sink) => throw new NotSupportedException();

    public async Task ReceiveAsync(long messages, int sizeBytes, PumpSink sink)
    {
        var request = new PumpRequest { Messages = messages, MessageBytes = sizeBytes };
        using AsyncServerStreamingCall<Payload> call = client.Pump(request);
        while (await call.ResponseStream.MoveNext(CancellationToken.None))
        {
            sink.Take(call.ResponseStream.Current.Data.Span);
        }

        if (sink.Taken != messages)
        {
            throw new EndOfStreamException($"The stream had {sink.Taken} messages instead of {messages}.");
        }
    }
}
