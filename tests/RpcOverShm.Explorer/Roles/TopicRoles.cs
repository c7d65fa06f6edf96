using RpcOverShm.Explorer.Model;
using RpcOverShm.Rings;
using RpcOverShm.Topics;

namespace RpcOverShm.Explorer.Roles;

/// <summary>
/// A publisher and its subscribers. The digits of a batch are records, as those of other roles; message n has the bytes
/// of <see cref="RecordRoles.PayloadOf"/>.
/// </summary>
internal static class TopicRoles
{
    /// <summary>
    /// A publisher that has published a batch when the search begins, and then publishes others. It waits for the
    /// subscribers that wait, by their processes, and wakes all. One that lies is left alone from then on.
    /// </summary>
    public static Action<RoleContext> Publisher(
        string before, string[] batches, int[] subscribers, int[] waiting) => context =>
    {
        var publisher = new TopicPublisher(context, subscribers, waiting);
        publisher.Write(before);
        publisher.Publish();
        context.Ready();
        foreach (string batch in batches)
        {
            publisher.Write(batch);
            publisher.Publish();
        }

        context.Result = publisher.Written;
    };

    /// <summary>A subscriber that is never lapped, and reads this many messages.</summary>
    public static Action<RoleContext> Waiting(int messages) => context =>
    {
        var subscriber = new TopicSubscriber(context, isWaiting: true);
        context.Ready();
        subscriber.ReadUpTo(messages);
        context.Result = subscriber.Lost;
    };

    /// <summary>A subscriber that goes on with the newest record when it is lapped.</summary>
    public static Action<RoleContext> Skipping(int messages) => context =>
    {
        var subscriber = new TopicSubscriber(context, isWaiting: false);
        context.Ready();
        subscriber.ReadUpTo(messages);
        context.Result = subscriber.Lost;
    };

    /// <summary>
    /// A subscriber of a hostile publisher. It reads until it has this many messages, finds the ring corrupted, or has
    /// been lapped a few times.
    /// </summary>
    public static Action<RoleContext> Victim(int messages) => context =>
    {
        var reader = context.Track(new TopicReader(context.Topic, new TopicStart(0, 0)));
        context.Ready();
        try
        {
            for (int turn = 0; turn < messages; turn++)
            {
                long before = reader.Position;
                long oldest = RoleContext.Field(reader, "_oldest");
                TopicState state = reader.TryRead(out TopicRecord record);
                Check(reader, before);
                CheckReach(context, reader, oldest, state);
                Require(reader.Position == before || (reader.Position & (context.Topic.Capacity - 1)) == 0);
                before = reader.Position;
                if (state == TopicState.Lapped)
                {
                    reader.SkipToNewest();
                    Require(reader.Position >= RoleContext.Field(reader, "_oldest"));
                }
                else if (state != TopicState.Empty)
                {
                    CheckRecord(context, reader, record);
                    reader.TryCopy(new byte[record.Length]);
                }

                Check(reader, before);
                context.Checkpoint(turn);
            }
        }
        catch (RingCorruptedException)
        {
            context.Result = -1;
        }
    };

    // If the oldest record has moved, the tail was loaded once more, and the publisher may have gone on in between.
    private static void CheckReach(RoleContext context, TopicReader reader, long oldestBefore, TopicState state)
    {
        long oldest = RoleContext.Field(reader, "_oldest");
        Require(
            state == TopicState.Empty
                || oldest != oldestBefore
                || RoleContext.Field(reader, "_tail") - oldest <= context.Topic.Capacity);
    }

    private static void Check(TopicReader reader, long before)
    {
        long position = reader.Position;
        long tail = RoleContext.Field(reader, "_tail");
        long oldest = RoleContext.Field(reader, "_oldest");
        Require(position >= before && position <= tail);
        Require((position & 15) == 0 && (tail & 15) == 0 && (oldest & 15) == 0);
        Require(oldest >= 0 && oldest <= tail);
    }

    private static void CheckRecord(RoleContext context, TopicReader reader, TopicRecord record)
    {
        long capacity = context.Topic.Capacity;
        int most = TopicLimits.MaxPayloadBytes(capacity);
        long length = RecordHeader.RecordLength(record.Length);
        Require(record.Length >= 0 && record.Length <= most);
        Require((reader.Position & (capacity - 1)) + length <= capacity);
        Require(reader.Position + length <= RoleContext.Field(reader, "_tail"));
        Require(record.Lost >= 0 && (record.Lost == 0 || RoleContext.Field(reader, "_hasSkipped") != 0));
        Require(record.Sequence == RoleContext.Field(reader, "_expected") + record.Lost);
    }

    private static void Require(
        bool isTrue,
        [System.Runtime.CompilerServices.CallerArgumentExpression(nameof(isTrue))] string rule = "") =>
        RoleContext.Require(isTrue, $"A hostile value passed the checks: {rule} does not hold.");
}
