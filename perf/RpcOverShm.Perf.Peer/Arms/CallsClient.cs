namespace RpcOverShm.Perf.Peer.Arms;

/// <summary>The client's end of a gRPC arm: one channel, whatever is opened.</summary>
internal sealed class CallsClient(ChannelBase channel) : IArmClient
{
    private readonly Conformance.ConformanceClient _client = new(channel);

    public Task<IEcho> OpenEchoAsync(CallerKind caller) => Task.FromResult<IEcho>(new CallsEcho(_client));

    public Task<IPump> OpenPumpAsync(CallerKind caller) => Task.FromResult<IPump>(new CallsPump(_client));

    public Task<IDrain> OpenDrainAsync(CallerKind caller) => Task.FromResult<IDrain>(new CallsDrain(_client));

    public IBatch OpenBatch() => channel is ShmChannel shm
        ? new CallsBatch(shm)
        : throw new NotSupportedException("Only RpcOverShm has batches.");
}
