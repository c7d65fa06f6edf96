namespace RpcOverShm.Perf.Peer.Loads;

/// <summary>Has the server send the messages of one slice, and takes them.</summary>
internal static class PumpLoad
{
    public static LoadResult Run(LoadOrder order, IPump pump)
    {
        var sink = new PumpSink(order);
        long messages = order.LeadInMessages + order.Messages;
        if (order.Caller == CallerKind.Blocking)
        {
            // The main thread of the process has nothing else to do meanwhile.
            pump.Receive(messages, order.SizeBytes, sink);
        }
        else
        {
            Task.Run(() => pump.ReceiveAsync(messages, order.SizeBytes, sink)).GetAwaiter().GetResult();
        }

        return sink.Finish();
    }
}
