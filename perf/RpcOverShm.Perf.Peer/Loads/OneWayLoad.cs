namespace RpcOverShm.Perf.Peer.Loads;

/// <summary>Sends the messages of one slice one way: from the server to the client, or from the client to it.</summary>
internal static class OneWayLoad
{
    /// <summary>Has the server send messages, and takes them.</summary>
    public static LoadResult Run(LoadOrder order, IPump pump)
    {
        var sink = new PumpSink(order);
        long messages = order.LeadInMessages + order.Messages;
        Run(order.Caller, () => pump.ReceiveAsync(messages, order.SizeBytes, sink));
        return sink.Taken == messages
            ? sink.Finish()
            : throw new EndOfStreamException($"The stream had {sink.Taken} messages instead of {messages}.");
    }

    /// <summary>
    /// Sends the server messages. The clock runs from the first until the server says that it has all.
    /// </summary>
    public static LoadResult Run(LoadOrder order, IDrain drain)
    {
        Send(order, drain, order.LeadInMessages);
        ResourceSample before = ResourceSample.Take();
        long start = Stopwatch.GetTimestamp();
        Send(order, drain, order.Messages);
        long elapsed = Stopwatch.GetTimestamp() - start;
        var times = new LatencyHistogram();
        times.Record(elapsed / order.Messages, order.Messages);
        return new LoadResult
        {
            All = order.LeadInMessages + order.Messages,
            FirstTick = start,
            ElapsedTicks = elapsed,
            WrongBytes = 0,
            Used = ResourceSample.Take() - before,
            Times = times,
        };
    }

    private static void Send(LoadOrder order, IDrain drain, long messages) => Run(order.Caller, async () =>
    {
        long taken = await drain.SendAsync(messages, order.SizeBytes);
        if (taken != messages)
        {
            throw new InvalidDataException($"The server took {taken} messages instead of {messages}.");
        }
    });

    // A blocking caller is the main thread of the process, which has nothing else to do meanwhile.
    private static void Run(CallerKind caller, Func<Task> actAsync) =>
        (caller == CallerKind.Blocking ? actAsync() : Task.Run(actAsync)).GetAwaiter().GetResult();
}
