using System.Runtime.InteropServices;
using RpcOverShm.Explorer.Model;
using RpcOverShm.Rings;
using RpcOverShm.Topics;

namespace RpcOverShm.Explorer.Roles;

/// <summary>Reads and checks messages as the loop of a process with one subscriber does.</summary>
internal sealed class TopicSubscriber
{
    private const int Publisher = 0;

    private readonly RoleContext _context;
    private readonly TopicReader _reader;
    private readonly SubscriberWords _words;
    private readonly bool _isWaiting;
    private readonly bool _toNewest;
    private long _seen;     // messages read or lost
    private long _atLeast;  // where the next message must end: the tail of the last skip to the newest

    public TopicSubscriber(RoleContext context, bool isWaiting, bool toNewest)
    {
        _context = context;
        _isWaiting = isWaiting;
        _toNewest = toNewest;
        _reader = context.Track(new TopicReader(context.Topic, new TopicStart(0, 0)));
        _words = context.Track(new SubscriberWords(context.PageOf(context.Process), context.Topic, 0));
    }

    public long Lost { get; private set; }

    public void ReadUpTo(int messages)
    {
        bool isOver = false;
        while (_seen < messages && !isOver)
        {
            TopicState state = _reader.TryRead(out TopicRecord record);
            switch (state)
            {
                case TopicState.Message or TopicState.End:
                    isOver = Copy(record, state == TopicState.End) && state == TopicState.End;
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

    private bool Copy(TopicRecord record, bool isEnd)
    {
        byte[] copy = new byte[record.Length];
        if (!_reader.TryCopy(copy))
        {
            return false;
        }

        RoleContext.Require(
            record.Sequence == _seen + record.Lost, $"Message {record.Sequence} follows {_seen} others.");
        RoleContext.Require(
            _reader.Position >= _atLeast, $"The newest record ends at {_reader.Position}, not at {_atLeast}.");
        _atLeast = 0;
        _seen += record.Lost;
        Lost += record.Lost;
        if (isEnd)
        {
            RoleContext.Require(TopicEnd.Read(copy).StatusCode == TopicRoles.EndCode, "The end has another status.");
        }
        else
        {
            foreach (long bytes in MemoryMarshal.Cast<byte, long>(copy))
            {
                RoleContext.Require(bytes == RecordRoles.PayloadOf(_seen), $"Message {_seen} has {bytes:X}.");
            }

            _seen++;
        }

        if (_isWaiting)
        {
            WakePublisher(_words.Release(_reader.Position));
        }

        return true;
    }

    private void Skip()
    {
        RoleContext.Require(!_isWaiting, "A subscriber that waits was lapped.");
        if (_toNewest)
        {
            _reader.SkipToNewest();
            _atLeast = RoleContext.Field(_reader, "_tail");
        }
        else
        {
            _reader.SkipToOldest();
        }
    }

    private void Sleep()
    {
        if (_isWaiting)
        {
            WakePublisher(_words.PublishHead(_reader.Position));
        }

        _words.Arm(_reader.Position, WakeMethods.Doorbell);
        if (!_reader.HasData)
        {
            _context.Sleep();
        }

        _words.Disarm();
    }

    private void WakePublisher(WakeMethods wakeMethods)
    {
        if (wakeMethods != WakeMethods.None)
        {
            _context.Wake(Publisher);
        }
    }
}
