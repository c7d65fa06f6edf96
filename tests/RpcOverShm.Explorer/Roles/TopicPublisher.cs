using System.Buffers;
using System.Runtime.InteropServices;
using RpcOverShm.Explorer.Model;
using RpcOverShm.Systems;
using RpcOverShm.Topics;

namespace RpcOverShm.Explorer.Roles;

/// <summary>Publishes as a topic does: writes, waits for room, and wakes the links.</summary>
internal sealed class TopicPublisher
{
    private readonly RoleContext _context;
    private readonly TopicWriter _writer;
    private readonly int[] _subscribers;
    private readonly List<int> _waiting;
    private readonly Dictionary<int, TopicDoorbell> _bells;
    private long _minimumHead;

    public TopicPublisher(RoleContext context, int[] subscribers, int[] waiting)
    {
        _context = context;
        _writer = context.Track(new TopicWriter(context.Topic));
        _subscribers = subscribers;
        _waiting = [.. waiting];
        _bells = subscribers.ToDictionary(
            process => process, process => context.Track(new TopicDoorbell(context.SegmentOf(process))));
        _minimumHead = waiting.Length == 0 ? long.MaxValue : 0;
    }

    public long Written { get; private set; }

    public void Write(string batch)
    {
        foreach (char size in batch)
        {
            byte[] payload = new byte[(size - '0') * sizeof(long)];
            MemoryMarshal.Cast<byte, long>(payload.AsSpan()).Fill(RecordRoles.PayloadOf(Written));
            var bytes = new ReadOnlySequence<byte>(payload);
            while (!_writer.TryWrite(bytes, _minimumHead) && !TryWriteAfterLook(bytes))
            {
                _context.Sleep();
                Checkpoint();
            }

            Written++;
            Checkpoint();
        }
    }

    public void Publish()
    {
        _writer.Publish();
        foreach (int process in _subscribers)
        {
            if (_bells[process].MustRing())
            {
                _context.Wake(process);
            }
        }

        Checkpoint();
    }

    // The cached minimum leaves no room: take what frames have told.
    private bool TryWriteAfterLook(in ReadOnlySequence<byte> payload)
    {
        Publish();
        long minimum = long.MaxValue;
        foreach (int process in _waiting)
        {
            minimum = Math.Min(minimum, SharedMemoryOrder.ReadAcquire(ref _context.SegmentOf(process).Head));
        }

        RoleContext.Require(minimum >= _minimumHead, "A head moved back.");
        _minimumHead = minimum;
        return _writer.TryWrite(payload, _minimumHead);
    }

    private void Checkpoint() =>
        _context.Checkpoint(Written | ((long)_waiting.Count << 10) | (_minimumHead << 16));
}
