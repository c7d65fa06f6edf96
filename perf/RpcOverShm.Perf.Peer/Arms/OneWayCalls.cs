namespace RpcOverShm.Perf.Peer.Arms;

/// <summary>
/// The generated service, whose messages are sent one way as calls, each of which is on its way when it returns.
/// </summary>
internal sealed class OneWayCalls : CallsService
{
    /// <summary>False: the service counts every message of a client as one that was sent one way.</summary>
    public override bool HasEcho => false;

    public override bool HasStreams => true;

    public override ServerServiceDefinition Bind() => Conformance.BindService(new CountingService());

    public override IEcho OpenEcho(ChannelBase channel) => throw new NotSupportedException();

    public override IPump OpenPump(ChannelBase channel) => new GeneratedCalls().OpenPump(channel);

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
