namespace RpcOverShm.Perf.Peer.Arms;

/// <summary>The client's end of a server-streaming call.</summary>
internal sealed class CallsPump<T>(MessageForm<T> form, Func<PumpRequest, AsyncServerStreamingCall<T>> open) : IPump
    where T : class
{
    public async Task ReceiveAsync(long messages, int sizeBytes, PumpSink sink)
    {
        var order = new PumpRequest { Messages = messages, MessageBytes = sizeBytes };
        using AsyncServerStreamingCall<T> call = open(order);
        while (await call.ResponseStream.MoveNext(CancellationToken.None))
        {
            form.Take(call.ResponseStream.Current, sink);
        }
    }
}

/// <summary>The client's end of a client-streaming call.</summary>
internal sealed class CallsDrain<T>(MessageForm<T> form, Func<AsyncClientStreamingCall<T, DrainReply>> open) : IDrain
    where T : class
{
    public async Task<long> SendAsync(long messages, int sizeBytes)
    {
        using AsyncClientStreamingCall<T, DrainReply> call = open();
        using var source = PumpMessages.OfSize(sizeBytes);
        for (long i = 0; i < messages; i++)
        {
            // A message has been serialised when its write completes, so its bytes can be used again.
            await call.RequestStream.WriteAsync(form.Make(source.Next(i)));
        }

        await call.RequestStream.CompleteAsync();
        return (await call.ResponseAsync).Messages;
    }
}
