using System.Runtime.InteropServices;
using RpcOverShm.Diagnostics;
using RpcOverShm.Protocol;
using RpcOverShm.Systems;

namespace RpcOverShm.Topics;

/// <summary>
/// The server's half of the topics of one link: the files that it has passed to the client, and what that must be told.
/// Thread-safe.
/// </summary>
/// <param name="memory">Keeps the memory of the link mapped, for each subscription.</param>
/// <param name="offer">Passes a file to the client. Returns false if it cannot be passed now.</param>
/// <param name="doorbell">Tells whether the client's event loop must be rung.</param>
/// <param name="ring">Rings it. Under no lock.</param>
internal sealed class PassedTopics(
    ILinkMemory memory, Func<FileNotice, SafeHandle, bool> offer, TopicDoorbell doorbell, Action ring)
{
    private readonly UninterruptibleLock _lock = new();
    private readonly List<PassedTopic> _topics = [];
    private readonly Queue<uint> _dropped = new();
    private uint _next = FileNotice.FirstTopic;
    private volatile bool _hasNews;
    private bool _isOver;

    /// <summary>Called, under no lock, when the client must be told something. Set before the first file.</summary>
    public Action? OnNews { get; set; }

    /// <summary>The topics that the client has, or is about to have.</summary>
    public int Count
    {
        get
        {
            using (_lock.Enter())
            {
                return _topics.Count;
            }
        }
    }

    /// <summary>Whether there is something to tell the client. A hint.</summary>
    public bool HasNews => _hasNews;

    /// <summary>
    /// Whether the client must be rung. After the publisher's fence; only while a subscription keeps the link's memory.
    /// </summary>
    public bool MustRing => doorbell.MustRing();

    /// <summary>Rings the client's event loop. Under no lock.</summary>
    public void Ring() => ring();

    /// <summary>
    /// Passes the file of a topic to the client, unless it has it. Returns null if it cannot be passed.
    /// <see cref="Release"/> follows once.
    /// </summary>
    public PassedTopic? Pass(TopicSegment segment)
    {
        if (!memory.TryEnter())
        {
            return null;
        }

        PassedTopic? topic = null;
        try
        {
            topic = Find(segment);
        }
        catch (SegmentException)
        {
            // The system passes no file now: the messages are copied.
        }
        finally
        {
            if (topic is null)
            {
                memory.Leave();
            }
        }

        return topic;
    }

    /// <summary>Ends one use of a topic; after the last one the client forgets it.</summary>
    public void Release(PassedTopic topic)
    {
        Action? onNews;
        using (_lock.Enter())
        {
            topic.Uses--;
            onNews = DropIfUnused(topic);
        }

        onNews?.Invoke();
        memory.Leave();
    }

    /// <summary>Takes the client's answer to a file.</summary>
    /// <exception cref="ProtocolException">No file waits for it.</exception>
    public void OnAnswer(uint number, bool isMapped)
    {
        PassedTopic? topic;
        Action? onNews;
        using (_lock.Enter())
        {
            topic = _topics.Find(one => one.Number == number);
            if (topic?.TryAnswer(isMapped) != true)
            {
                throw new ProtocolException($"The peer answered to topic {number}, which does not wait for an answer.");
            }

            onNews = DropIfUnused(topic);
        }

        onNews?.Invoke();
    }

    /// <summary>The number of a topic to drop; <see cref="DropDropped"/> follows when it is written.</summary>
    public bool TryPeekDropped(out uint number)
    {
        using (_lock.Enter())
        {
            return _dropped.TryPeek(out number);
        }
    }

    public void DropDropped()
    {
        using (_lock.Enter())
        {
            _dropped.Dequeue();
            _hasNews = _dropped.Count > 0;
        }
    }

    /// <summary>Ends the link: who waits for an answer gets none.</summary>
    public void Close()
    {
        PassedTopic[] all;
        using (_lock.Enter())
        {
            _isOver = true;
            _hasNews = false;
            OnNews = null;
            all = [.. _topics];
        }

        Array.ForEach(all, static topic => topic.TryAnswer(isMapped: false));
    }

    private PassedTopic? Find(TopicSegment segment)
    {
        PassedTopic topic;
        using (_lock.Enter())
        {
            if (_isOver)
            {
                return null;
            }

            if (_topics.Find(one => one.Segment == segment) is { } known)
            {
                known.Uses++;
                return known;
            }

            // Under the lock, because files have to come in the order of their numbers. It does not wait.
            topic = new PassedTopic(segment, _next);
            if (!offer(new FileNotice(topic.Number, segment.Capacity), segment.Handle))
            {
                return null;
            }

            _next++;
            _topics.Add(topic);
        }

        return topic;
    }

    // Under the lock. A file that the client has not answered to stays, so that the answer finds it.
    private Action? DropIfUnused(PassedTopic topic)
    {
        if (topic.Uses > 0 || !topic.Answer.IsCompleted)
        {
            return null;
        }

        _topics.Remove(topic);
        if (_isOver || !topic.IsMapped)
        {
            return null;
        }

        _dropped.Enqueue(topic.Number);
        _hasNews = true;
        return OnNews;
    }
}

/// <summary>The memory of a link, which is unmapped after its last user has left.</summary>
internal interface ILinkMemory
{
    /// <summary>Keeps it mapped until <see cref="Leave"/>. Returns false if it is unmapped or about to be.</summary>
    bool TryEnter();

    void Leave();
}

/// <summary>A topic whose file was passed to a client. Guarded by the lock of its owner.</summary>
internal sealed class PassedTopic(TopicSegment segment, uint number)
{
    private readonly TaskCompletionSource<bool> _answer = new(TaskCreationOptions.RunContinuationsAsynchronously);

    public TopicSegment Segment => segment;

    public uint Number => number;

    /// <summary>The subscriptions of the client.</summary>
    public int Uses { get; set; } = 1;

    /// <summary>Whether the client has mapped the file, once it has answered or the link has ended.</summary>
    public Task<bool> Answer => _answer.Task;

    public bool IsMapped => Answer is { IsCompletedSuccessfully: true, Result: true };

    public bool TryAnswer(bool isMapped) => _answer.TrySetResult(isMapped);
}
