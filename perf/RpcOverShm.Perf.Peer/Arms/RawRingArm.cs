namespace RpcOverShm.Perf.Peer.Arms;

/// <summary>
/// The product's rings themselves: real sealed segments of a real handshake, written and read without anything above
/// the record, while both sides check for data without pause. The cost of the rest of the product is measured against
/// it.
/// </summary>
internal sealed class RawRingArm : IArm
{
    public string Name => "raw-ring";

    /// <summary>A thread checks a ring without pause, so that there is nothing to await.</summary>
    public bool Supports(LoadShape shape, CallerKind caller) =>
        caller == CallerKind.Blocking && shape is not (LoadShape.Batch or LoadShape.Backlog);

    public Task<string> ServeAsync(string place) => Task.FromResult(RingMessages.Listen(place, Name, Serve));

    public IArmClient MakeClient(string place) => new Client(place);

    private static void Serve(RingMessages ring)
    {
        if (!ring.TryReceive())
        {
            return;
        }

        var shape = (LoadShape)ring.Received[0];
        var answer = new EchoAnswer();
        while (ring.TryReceive())
        {
            switch (shape)
            {
                case LoadShape.Echo:
                    LinkEcho.Answer(ring, answer);
                    break;
                case LoadShape.Pump:
                    Pump(ring);
                    break;
                default:
                    Drain(ring);
                    break;
            }
        }
    }

    private static void Drain(RingMessages ring)
    {
        (long count, _) = ByteStreamServer.Parse(ring.Received);
        for (long i = 0; i < count; i++)
        {
            ring.Receive();
            ServedTally.CountRequest(ring.Received);
        }

        ring.Send(BitConverter.GetBytes(count));
    }

    private static void Pump(RingMessages ring)
    {
        (long count, int size) = ByteStreamServer.Parse(ring.Received);
        using var messages = PumpMessages.OfSize(size);
        for (long i = 0; i < count; i++)
        {
            ring.Send(messages.Next(i));
        }
    }

    private sealed class Client(string place) : IArmClient
    {
        public async Task<IEcho> OpenEchoAsync(CallerKind caller) => new LinkEcho(await OpenAsync(LoadShape.Echo));

        public async Task<IPump> OpenPumpAsync(CallerKind caller) => new RingPump(await OpenAsync(LoadShape.Pump));

        public async Task<IDrain> OpenDrainAsync(CallerKind caller) => new RingDrain(await OpenAsync(LoadShape.Drain));

        private async Task<RingMessages> OpenAsync(LoadShape shape)
        {
            RingMessages ring = await RingMessages.ConnectAsync(place);
            ring.Send([(byte)shape]);
            return ring;
        }
    }

    private sealed class RingPump(RingMessages ring) : IPump
    {
        public Task ReceiveAsync(long messages, int sizeBytes, PumpSink sink)
        {
            ring.Send(ByteStreamServer.Order(messages, sizeBytes));
            while (sink.Taken < messages)
            {
                ring.Receive();
                sink.Take(ring.Received);
            }

            return Task.CompletedTask;
        }
    }

    private sealed class RingDrain(RingMessages ring) : IDrain
    {
        public Task<long> SendAsync(long messages, int sizeBytes)
        {
            ring.Send(ByteStreamServer.Order(messages, sizeBytes));
            using var source = PumpMessages.OfSize(sizeBytes);
            for (long i = 0; i < messages; i++)
            {
                ring.Send(source.Next(i));
            }

            ring.Receive();
            return Task.FromResult(BinaryPrimitives.ReadInt64LittleEndian(ring.Received));
        }
    }
}
