using RpcOverShm.Links;

namespace RpcOverShm.Perf.Peer.Arms;

/// <summary>
/// The product's rings themselves: real sealed segments of a real handshake, written and read without anything above
/// the record, while both sides look for data without pause. What the rest of the product adds is measured against it.
/// </summary>
internal sealed class RawRingArm : IArm
{
    public string Name => "raw-ring";

    /// <summary>A ring that is looked at without pause has a thread: there is nothing to await.</summary>
    public bool Supports(LoadShape shape, CallerKind caller) =>
        caller == CallerKind.Blocking && shape != LoadShape.Batch;

    public Task<string> ServeAsync(string place)
    {
        string address = "shm://" + place;

        // The listener lives as long as the process.
        _ = Listener.Start(RendezvousAddress.Parse(address, null), Settings(), StartServing);
        return Task.FromResult(address);
    }

    public IArmClient MakeClient(string place) => new Client(RendezvousAddress.Parse(place, null));

    private static ConnectionSettings Settings() => OptionChecks.Stream<RawRingArm>(new ShmStreamOptions());

    private static void StartServing(PeerLink link)
    {
        link.Start(static () => { });
        new Thread(() => Serve(new RingMessages(link))) { IsBackground = true, Name = "raw ring" }.Start();
    }

    private static void Serve(RingMessages ring)
    {
        if (!ring.TryReceive(out ReadOnlySpan<byte> hello))
        {
            return;
        }

        var shape = (LoadShape)hello[0];
        var answer = new EchoAnswer();
        while (ring.TryReceive(out ReadOnlySpan<byte> message))
        {
            switch (shape)
            {
                case LoadShape.Echo:
                    ServedTally.CountRequest(message);
                    ring.Send(answer.TryMake(message, out Memory<byte> made) ? made.Span : message);
                    break;
                case LoadShape.Pump:
                    Pump(ring, message);
                    break;
                default:
                    Drain(ring, message);
                    break;
            }
        }
    }

    private static void Drain(RingMessages ring, ReadOnlySpan<byte> order)
    {
        long count = BinaryPrimitives.ReadInt64LittleEndian(order);
        for (long i = 0; i < count; i++)
        {
            ring.Receive();
            ServedTally.CountRequest(ring.Received);
        }

        ring.Send(BitConverter.GetBytes(count));
    }

    private static void Pump(RingMessages ring, ReadOnlySpan<byte> order)
    {
        long count = BinaryPrimitives.ReadInt64LittleEndian(order);
        using var messages = PumpMessages.OfSize(BinaryPrimitives.ReadInt32LittleEndian(order[sizeof(long)..]));
        for (long i = 0; i < count; i++)
        {
            ring.Send(messages.Next(i));
        }
    }

    private sealed class Client(RendezvousAddress address) : IArmClient
    {
        public async Task<IEcho> OpenEchoAsync(CallerKind caller) => new Echo(await OpenAsync(LoadShape.Echo));

        public async Task<IPump> OpenPumpAsync(CallerKind caller) => new RingPump(await OpenAsync(LoadShape.Pump));

        public async Task<IDrain> OpenDrainAsync(CallerKind caller) => new RingDrain(await OpenAsync(LoadShape.Drain));

        private async Task<RingMessages> OpenAsync(LoadShape shape)
        {
            PeerLink link = await ClientHandshake.ConnectAsync(address, Settings(), CancellationToken.None);
            link.Start(static () => { });
            var ring = new RingMessages(link);
            ring.Send([(byte)shape]);
            return ring;
        }
    }

    private sealed class Echo(RingMessages ring) : IEcho
    {
        private byte[] _requests = [];
        private Memory<byte> _request;

        public ReadOnlySpan<byte> Reply => ring.Received;

        public Memory<byte> Prepare(ExchangeSize size)
        {
            _requests = _requests.Length < size.RequestBytes ? new byte[size.RequestBytes] : _requests;
            return _request = _requests.AsMemory(0, size.RequestBytes);
        }

        public void Call()
        {
            ring.Send(_request.Span);
            ring.Receive();
        }

        public ValueTask CallAsync() => throw new NotSupportedException();
    }

    private sealed class RingPump(RingMessages ring) : IPump
    {
        public void Receive(long messages, int sizeBytes, PumpSink sink)
        {
            ring.Send(ByteStreamServer.Order(messages, sizeBytes));
            while (sink.Taken < messages)
            {
                ring.Receive();
                sink.Take(ring.Received);
            }
        }

        public Task ReceiveAsync(long messages, int sizeBytes, PumpSink sink) => throw new NotSupportedException();
    }

    private sealed class RingDrain(RingMessages ring) : IDrain
    {
        public void Send(long messages, int sizeBytes)
        {
            ring.Send(ByteStreamServer.Order(messages, sizeBytes));
            using var source = PumpMessages.OfSize(sizeBytes);
            for (long i = 0; i < messages; i++)
            {
                ring.Send(source.Next(i));
            }

            ring.Receive();
            if (BinaryPrimitives.ReadInt64LittleEndian(ring.Received) != messages)
            {
                throw new InvalidDataException("The server did not take all messages.");
            }
        }

        public Task SendAsync(long messages, int sizeBytes) => throw new NotSupportedException();
    }
}
