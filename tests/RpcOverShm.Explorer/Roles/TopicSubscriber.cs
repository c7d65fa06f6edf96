using System.Runtime.InteropServices;
using RpcOverShm.Explorer.Model;
using RpcOverShm.Systems;
using RpcOverShm.Topics;

namespace RpcOverShm.Explorer.Roles;

/// <summary>Reads and checks messages as the loop of a process with one subscriber does.</summary>
internal sealed class TopicSubscriber
{
    private const int Publisher = 0;

    private readonly RoleContext _context;
    private readonly TopicReader _reader;
    private readonly TopicParking _parking;
    private readonly bool _isWaiting;
    private long _seen;     // messages read or lost
    private long _atLeast;  // where the next message must end: the tail of the last skip to the newest

    public TopicSubscriber(RoleContext context, bool isWaiting)
    {
        _context = context;
        _isWaiting = isWaiting;
        _reader = context.Track(new TopicReader(context.Topic, new TopicStart(0, 0)));
        _parking = context.Track(new TopicParking(context.Own));
    }

    public long Lost { get; private set; }

    public void ReadUpTo(int messages)
    {
        while (_seen < messages)
        {
            TopicState state = _reader.TryRead(out TopicRecord record);
            switch (state)
            {
                case TopicState.Message:
                    Copy(record);
                    break;
                case TopicState.Lapped:
                    Skip();
                    break;
                default:
                    Sleep();
                    break;
            }

            _context.Checkpoint(_seen | (Lost << 16) | (_atLeast << 32));
        }
    }

    private void Copy(TopicRecord record)
    {
        byte[] copy = new byte[record.Length];
        if (!_reader.TryCopy(copy))
        {
            return;
        }

        RoleContext.Require(
            record.Sequence == _seen + record.Lost, $"Message {record.Sequence} follows {_seen} others.");
        RoleContext.Require(
            _reader.Position >= _atLeast, $"The newest record ends at {_reader.Position}, not at {_atLeast}.");
        _atLeast = 0;
        _seen += record.Lost;
        Lost += record.Lost;
        foreach (long bytes in MemoryMarshal.Cast<byte, long>(copy))
        {
            RoleContext.Require(bytes == RecordRoles.PayloadOf(_seen), $"Message {_seen} has {bytes:X}.");
        }

        _seen++;
        if (_isWaiting)
        {
            // The frame TopicRead: it comes whole, and wakes the publisher.
            SharedMemoryOrder.WriteFenced(ref _context.Own.Head, _reader.Position);
            _context.Wake(Publisher);
        }
    }

    private void Skip()
    {
        RoleContext.Require(!_isWaiting, "A subscriber that waits was lapped.");
        _reader.SkipToNewest();
        _atLeast = RoleContext.Field(_reader, "_tail");
    }

    private void Sleep()
    {
        _parking.Arm();
        if (!_reader.HasData)
        {
            _context.Sleep();
        }

        _parking.Disarm();
    }
}
