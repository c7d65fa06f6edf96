using Grpc.Core;
using RpcOverShm.Protocol;

namespace RpcOverShm.Topics;

/// <summary>
/// A subscriber as the publisher sees it: what it has read, and how long the publisher has waited for it. Guarded by
/// the lock of its buffer, but for its end.
/// </summary>
/// <param name="whenSlow">What happens when it is slower than the publisher.</param>
/// <param name="maxWait">The time for which the publisher waits for it.</param>
/// <param name="client">The client that maps the topic; null for a subscriber that gets messages one by one.</param>
internal sealed class TopicSubscription(TopicSlowness whenSlow, TimeSpan maxWait, PassedTopics? client)
{
    private readonly TaskCompletionSource<Status> _ended = new(TaskCreationOptions.RunContinuationsAsynchronously);

    public PassedTopics? Client => client;

    /// <summary>The position up to which it has read, as it has told.</summary>
    public long Position { get; set; }

    /// <summary>Where it has begun.</summary>
    public TopicStart Start { get; private set; }

    public TopicSlowness WhenSlow => whenSlow;

    /// <summary>Whether the publisher waits for it.</summary>
    public bool IsWaitedFor => whenSlow == TopicSlowness.Wait && !_ended.Task.IsCompleted;

    /// <summary>Whether the publisher has ended it because it was too slow.</summary>
    public bool IsTooSlow { get; private set; }

    /// <summary>The status with which the publisher has ended it.</summary>
    public Task<Status> Ended => _ended.Task;

    /// <summary>The time that is left for the publisher to wait.</summary>
    public TimeSpan Patience => maxWait - Waited;

    // The time that the publisher has waited since this subscriber last was where the publisher is, or began to wait.
    private TimeSpan Waited { get; set; }

    private long? CaughtUpAt { get; set; }

    private bool IsInWait { get; set; }

    /// <summary>Places the subscriber. Once, before it is known to the publisher.</summary>
    public void StartAt(TopicStart start)
    {
        Start = start;
        Position = start.Position;
    }

    /// <summary>The publisher, which is at the tail, begins to wait for this subscriber.</summary>
    public void BeginWait(long tail)
    {
        CaughtUpAt ??= tail;
        IsInWait = true;
    }

    /// <summary>
    /// The publisher has waited, perhaps for this subscriber. Ends it if that was too long: it must read within that
    /// time all that the publisher had written when it began to wait. So one that reads a little at a time does not
    /// hold the publisher back for ever.
    /// </summary>
    public void EndWait(TimeSpan waited)
    {
        Waited += IsInWait && CaughtUpAt is not null ? waited : TimeSpan.Zero;
        IsInWait = false;
        if (Waited >= maxWait)
        {
            IsTooSlow = true;
            _ended.TrySetResult(new Status(
                StatusCode.ResourceExhausted,
                $"The subscriber was slower than the publisher of its topic, which waits {maxWait.TotalSeconds} s "
                + "(MaxWait of ShmSubscribeOptions). Read faster, or give the topic a larger Capacity."));
        }
    }

    /// <summary>Takes the position that the subscriber has told.</summary>
    public void MoveTo(long position)
    {
        Position = position;
        if (position >= CaughtUpAt)
        {
            CaughtUpAt = null;
            Waited = TimeSpan.Zero;
        }
    }

    /// <summary>Ends the subscriber, unless it has ended.</summary>
    public void End(in Status status) => _ended.TrySetResult(status);
}
