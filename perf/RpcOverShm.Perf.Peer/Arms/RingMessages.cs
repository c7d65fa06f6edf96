using RpcOverShm.Links;
using RpcOverShm.Protocol;
using RpcOverShm.Rings;
using RpcOverShm.Scheduling;
using RpcOverShm.Systems;

namespace RpcOverShm.Perf.Peer.Arms;

/// <summary>
/// Messages over the two rings of a link, in records of at most 32 KiB. Each record is visible at once, so that one
/// side copies in while the other copies out, and says how much of its message is left. Checks for data, and for space,
/// without pause; only a server without requests sleeps after a while, as every idle server of the suite does. One
/// thread.
/// </summary>
internal sealed class RingMessages(PeerLink link) : IMessageLink
{
    private const int RecordBytes = 32 << 10;
    private static readonly long s_parkAfterTicks = Stopwatch.Frequency * 2 / 1000;
    private static readonly long s_giveUpAfterTicks = Stopwatch.Frequency * 20;

    private readonly RingWriter _writer = link.Writer;
    private readonly RingReader _reader = link.Reader;
    private byte[] _received = [];
    private int _receivedBytes;

    /// <summary>The last message, until the next one.</summary>
    public ReadOnlySpan<byte> Received => _received.AsSpan(0, _receivedBytes);

    /// <summary>Serves each client in a thread of its own, for as long as the process lives.</summary>
    /// <returns>The address for <see cref="ConnectAsync"/>.</returns>
    public static string Listen(string place, string name, Action<RingMessages> serve)
    {
        string address = "shm://" + place;
        _ = Listener.Start(RendezvousAddress.Parse(address, null), Settings(), link =>
        {
            link.Start(new RingSource(link), static () => { });
            new Thread(() => serve(new RingMessages(link))) { IsBackground = true, Name = name }.Start();
        });
        return address;
    }

    public static async Task<RingMessages> ConnectAsync(string address)
    {
        PeerLink link = await ClientHandshake.ConnectAsync(
            RendezvousAddress.Parse(address, null), Settings(), CancellationToken.None);
        link.Start(new RingSource(link), static () => { });
        return new RingMessages(link);
    }

    /// <summary>Sends a message, in this thread, waiting for space.</summary>
    public void Send(ReadOnlySpan<byte> message)
    {
        do
        {
            if (message.Length > _writer.MaxPayloadBytes)
            {
                _writer.WantGrowth();
            }

            int length = Math.Min(message.Length, Math.Min(RecordBytes, _writer.MaxPayloadBytes));
            RingClaim claim = Claim(length);
            message[..length].CopyTo(claim.Payload);
            var header = new RecordHeader((uint)length, (byte)FrameKind.Bytes, 0, 0, 0, (uint)message.Length);
            _writer.Commit(claim, header);
            link.WakePeerForData(_writer.Publish());

            message = message[length..];
        }
        while (!message.IsEmpty);
    }

    /// <summary>Waits for a message, asleep if it takes long. False when the peer is gone.</summary>
    public bool TryReceive() => TryReceive(mayPark: true);

    /// <summary>Waits for a message that is on its way.</summary>
    /// <exception cref="IOException">The peer is gone, or does not answer.</exception>
    public void Receive()
    {
        if (!TryReceive(mayPark: false))
        {
            throw new IOException("The peer is gone.");
        }
    }

    private static ConnectionSettings Settings() => new ShmStreamOptions().ToConnectionSettings();

    private bool TryReceive(bool mayPark)
    {
        _receivedBytes = 0;
        uint left;
        do
        {
            RecordHeader header;
            ReadOnlySpan<byte> payload;
            while (!_reader.TryRead(out header, out payload))
            {
                if (!WaitForData(mayPark))
                {
                    return false;
                }
            }

            Append(payload, header.Argument);
            left = header.Argument - header.PayloadLength;
            link.WakePeerForSpace(_reader.Release());
        }
        while (left > 0);
        return true;
    }

    private void Append(ReadOnlySpan<byte> payload, uint messageLeft)
    {
        if (payload.Length > messageLeft)
        {
            throw new InvalidDataException("A record is longer than its message.");
        }

        if (_receivedBytes + messageLeft > _received.Length)
        {
            Array.Resize(ref _received, (int)(_receivedBytes + messageLeft));
        }

        payload.CopyTo(_received.AsSpan(_receivedBytes));
        _receivedBytes += payload.Length;
    }

    private RingClaim Claim(int length)
    {
        RingClaim claim;
        var spin = new RingSpin();
        while (!_writer.TryClaim(length, isControl: false, out claim))
        {
            if (spin.Pause() && (link.IsClosed || link.IsPeerGone || spin.ElapsedTicks > s_giveUpAfterTicks))
            {
                throw new IOException("The peer does not read.");
            }
        }

        return claim;
    }

    private bool WaitForData(bool mayPark)
    {
        var spin = new RingSpin();
        while (!_reader.HasData)
        {
            if (!spin.Pause())
            {
                continue;
            }

            if (link.IsClosed || (link.IsPeerGone && !_reader.HasData))
            {
                return false;
            }

            if (mayPark && spin.ElapsedTicks > s_parkAfterTicks)
            {
                Park();
            }
            else if (!mayPark && spin.ElapsedTicks > s_giveUpAfterTicks)
            {
                throw new IOException("The peer does not answer.");
            }
        }

        return true;
    }

    private void Park()
    {
        uint localEvents = link.LocalEvents;
        link.WakePeerForSpace(_reader.PublishHead());

        long position = _reader.Position;
        if (_reader.Arm(WakeMethods.Futex) && !link.IsPeerGone)
        {
            link.SleepForData(position, localEvents);
        }

        _reader.Disarm();
    }
}

/// <summary>Has an event loop watch the socket of a link whose rings this arm reads and writes by itself.</summary>
internal sealed class RingSource(PeerLink link) : EventSource
{
    public override bool HasWork => false;

    public override bool NeedsReader => false;

    public override bool Run(LoopThread me) => true;

    public override bool TryPark() => true;

    public override void OnSocket() => Request();

    public override void DrainSocket(bool hasEnded) => link.DrainSocket(hasEnded);

    protected override MissedDoorbell? FindMissedDoorbell() => null;

    protected override void OnLostDoorbell()
    {
    }
}
