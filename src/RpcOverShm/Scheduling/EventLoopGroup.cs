using RpcOverShm.Systems;

namespace RpcOverShm.Scheduling;

/// <summary>
/// The event loops of a process for one kind of source. Servers and channels have a group each, so that a method which
/// waits for another server does not keep the answer from being read. Thread-safe.
/// </summary>
internal sealed class EventLoopGroup
{
    private readonly EventLoop[] _loops;

    public EventLoopGroup(int processors)
    {
        _loops = new EventLoop[Math.Max(1, processors / 2)];
        for (int i = 0; i < _loops.Length; i++)
        {
            _loops[i] = new EventLoop();
        }
    }

    /// <summary>The loops that serve the clients of this process's servers.</summary>
    public static EventLoopGroup Servers { get; } = new(Environment.ProcessorCount);

    /// <summary>The loops that serve this process's channels and other connections that it has made.</summary>
    public static EventLoopGroup Channels { get; } = new(Environment.ProcessorCount);

    /// <summary>Adds a source to the loop with the fewest rings. Returns null on success, else the reason.</summary>
    public string? Add(EventSource source, Watchable watched)
    {
        EventLoop fewest = _loops[0];
        foreach (EventLoop loop in _loops)
        {
            fewest = loop.RingCount < fewest.RingCount ? loop : fewest;
        }

        return fewest.Add(source, watched);
    }
}
