using System.Buffers;
using System.Runtime.InteropServices;
using RpcOverShm.Explorer.Model;
using RpcOverShm.Rings;
using RpcOverShm.Topics;

namespace RpcOverShm.Explorer.Roles;

/// <summary>Publishes as a topic does: writes, waits for room, and wakes the links.</summary>
internal sealed class TopicPublisher
{
    private readonly RoleContext _context;
    private readonly TopicWriter _writer;
    private readonly int[] _subscribers;
    private readonly List<int> _waiting;
    private readonly Dictionary<int, SubscriberView> _views;
    private long _minimumHead;

    public TopicPublisher(RoleContext context, int[] subscribers, int[] waiting)
    {
        _context = context;
        _writer = context.Track(new TopicWriter(context.Topic));
        _subscribers = subscribers;
        _waiting = [.. waiting];
        _views = subscribers.ToDictionary(
            process => process, process => context.Track(new SubscriberView(context.PageOf(process))));
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
                _writer.UnparkForSpace();
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
            if (_views[process].WakeFor(_writer.Now.Position) != WakeMethods.None)
            {
                _context.Wake(process);
            }
        }

        Checkpoint();
    }

    public void End()
    {
        _writer.WriteEnd(TopicRoles.EndCode, "");
        Publish();
    }

    // The cached minimum leaves no room: look at the heads, park if there is still none, and look again.
    private bool TryWriteAfterLook(in ReadOnlySequence<byte> payload)
    {
        Publish();
        LookAtHeads();
        if (_writer.TryWrite(payload, _minimumHead))
        {
            return true;
        }

        _writer.ParkForSpace((int)payload.Length, WakeMethods.Doorbell);
        LookAtHeads();
        if (!_writer.TryWrite(payload, _minimumHead))
        {
            return false;
        }

        _writer.UnparkForSpace();
        return true;
    }

    private void LookAtHeads()
    {
        long minimum = long.MaxValue;
        foreach (int process in _waiting.ToArray())
        {
            try
            {
                minimum = Math.Min(minimum, _views[process].ReadHead(_writer.Now.Position));
                long head = RoleContext.Field(_views[process], "_head");
                RoleContext.Require(
                    head <= _writer.Now.Position && (head & 15) == 0, $"A hostile head passed the checks: {head}.");
            }
            catch (RingCorruptedException)
            {
                _waiting.Remove(process);
            }
        }

        RoleContext.Require(minimum >= _minimumHead, "A head moved back.");
        _minimumHead = minimum;
    }

    private void Checkpoint() =>
        _context.Checkpoint(Written | ((long)_waiting.Count << 10) | (_minimumHead << 16));
}
