using System.Buffers.Binary;
using RpcOverShm.Connections;
using RpcOverShm.Perf.Peer.Loads;
using RpcOverShm.Perf.Peer.Recording;

namespace RpcOverShm.Perf.Peer.Arms;

/// <summary>
/// The product's rings themselves: real sealed segments of a real handshake, written and read without anything above
/// the record, while both sides look for data without pause. What the rest of the product adds is measured against it.
/// </summary>
internal sealed class RawRingArm : IArm
{
    public string Name => "raw-ring";

    /// <summary>A ring that is looked at without pause has a thread: there is nothing to await.</summary>
    public bool Supports(LoadShape shape, CallerKind caller) => caller == CallerKind.Blocking;

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

        bool isEcho = (LoadShape)hello[0] == LoadShape.Echo;
        while (ring.TryReceive(out ReadOnlySpan<byte> message))
        {
            if (isEcho)
            {
                ServedTally.CountRequest(message);
                ring.Send(message);
            }
            else
            {
                Pump(ring, message);
            }
        }
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

        private async Task<RingMessages> OpenAsync(LoadShape shape)
        {
            PeerLink link = await Connector.ConnectAsync(address, Settings(), CancellationToken.None);
            link.Start(static () => { });
            var ring = new RingMessages(link);
            ring.Send([(byte)shape]);
            return ring;
        }
    }

    private sealed class Echo(RingMessages ring) : IEcho
    {
        private byte[] _request = [];

        public ReadOnlySpan<byte> Reply => ring.Received;

        public Memory<byte> Prepare(int sizeBytes)
        {
            _request = _request.Length == sizeBytes ? _request : new byte[sizeBytes];
            return _request;
        }

        public void Call()
        {
            ring.Send(_request);
            ring.Receive();
        }

        public ValueTask CallAsync() => throw new NotSupportedException();
    }

    private sealed class RingPump(RingMessages ring) : IPump
    {
        public void Receive(long messages, int sizeBytes, PumpSink sink)
        {
            Span<byte> order = stackalloc byte[sizeof(long) + sizeof(int)];
            BinaryPrimitives.WriteInt64LittleEndian(order, messages);
            BinaryPrimitives.WriteInt32LittleEndian(order[sizeof(long)..], sizeBytes);
            ring.Send(order);
            while (sink.Taken < messages)
            {
                ring.Receive();
                sink.Take(ring.Received);
            }
        }

        public Task ReceiveAsync(long messages, int sizeBytes, PumpSink sink) => throw new NotSupportedException();
    }
}
