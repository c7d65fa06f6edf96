using RpcOverShm.Explorer.Model;
using RpcOverShm.Explorer.Roles;

namespace RpcOverShm.Explorer;

/// <summary>
/// The scenarios of the ring of a topic: a publisher, A, and subscribers, B and C. A ring of 128 bytes takes four
/// records of one unit; one of 256 bytes takes eight, but five ahead of a subscriber that waits.
/// </summary>
internal static class TopicScenarios
{
    private static readonly int[] s_both = [1, 2];

    public static IReadOnlyList<Scenario> All { get; } =
    [
        Two("topic, data", 256, TopicRoles.Publisher("1", ["1"], s_both, []), 2, 2),
        One("topic, batches", 256, TopicRoles.Publisher("", ["1", "21"], [1], []), TopicRoles.Skipping(3)),
        One("topic, lapped", 128, TopicRoles.Publisher("1111", ["1", "1"], [1], []), TopicRoles.Skipping(6)),
        One("topic, lapped, batch", 128, TopicRoles.Publisher("1111", ["00"], [1], []), TopicRoles.Skipping(6)),
        One("topic, lapped, padding", 128, TopicRoles.Publisher("0111", ["1"], [1], []), TopicRoles.Skipping(5)),
        One("topic, lapped, large batch", 128, TopicRoles.Publisher("1", ["111110"], [1], []), TopicRoles.Skipping(7)),
        Two("topic, two lapped", 128, TopicRoles.Publisher("1111", ["1"], s_both, []), 5, 5),
        One("topic, space", 256, TopicRoles.Publisher("11111", ["1", "1"], [1], [1]), TopicRoles.Waiting(7)),
        One("topic, full", 256, TopicRoles.Publisher("11111", ["11", "11"], [1], [1]), TopicRoles.Waiting(9)),
        One("topic, padding", 256, TopicRoles.Publisher("01111", ["11", "1"], [1], [1]), TopicRoles.Waiting(8)),
        Three(
            "topic, space, one waits", 256, TopicRoles.Publisher("11111", ["1"], s_both, [1]),
            TopicRoles.Waiting(6), TopicRoles.Skipping(6)),
        HostilePublisher("topic, hostile publisher", "11", TopicRoles.Victim(5)),
        HostilePublisher("topic, hostile publisher laps", "1111", TopicRoles.Victim(4)),
        HostileSubscriber("topic, hostile subscriber", 1, new RoleSpec("C.reader", 2, TopicRoles.Waiting(7)), s_both),
    ];

    public static IReadOnlyList<Scenario> Deep { get; } =
    [
        Two("deep topic", 128, TopicRoles.Publisher("1111", ["1", "11"], s_both, []), 7, 7),
    ];

    private static Scenario One(string name, int capacity, Action<RoleContext> publisher, Action<RoleContext> reader) =>
        new(name, capacity, new RoleSpec("A.publisher", 0, publisher), new RoleSpec("B.reader", 1, reader))
        {
            HasTopic = true,
            HasBells = true,
            AtEnd = Unparked,
        };

    private static Scenario Two(string name, int capacity, Action<RoleContext> publisher, int toB, int toC) => Three(
        name, capacity, publisher, TopicRoles.Skipping(toB), TopicRoles.Skipping(toC));

    private static Scenario Three(
        string name, int capacity, Action<RoleContext> publisher, Action<RoleContext> b, Action<RoleContext> c)
    {
        return new Scenario(
            name,
            capacity,
            new RoleSpec("A.publisher", 0, publisher),
            new RoleSpec("B.reader", 1, b),
            new RoleSpec("C.reader", 2, c))
        {
            HasTopic = true,
            HasBells = true,
            AtEnd = Unparked,
        };
    }

    private static Scenario HostilePublisher(string name, string before, Action<RoleContext> victim) => new(
        name,
        128,
        new RoleSpec("A.publisher", 0, TopicRoles.Publisher(before, ["1"], [], [])),
        new RoleSpec("B.victim", 1, victim))
    {
        HasTopic = true,
        HasBells = true,
        Pokes = 1,
        Lies = Lies.OfPublisher,
        MaySleep = true,
    };

    private static Scenario HostileSubscriber(string name, int pokes, RoleSpec? other, int[] waiting)
    {
        var publisher = new RoleSpec("A.publisher", 0, TopicRoles.Publisher("11111", ["1", "1"], waiting, waiting));
        return new Scenario(name, 256, other is null ? [publisher] : [publisher, other])
        {
            HasTopic = true,
            HasBells = true,
            Pokes = pokes,
            SpuriousWakes = other is null ? 1 : 0,
            Lies = Lies.OfSubscriber,
            MaySleep = true,
        };
    }

    private static string? Unparked(FinalState final) =>
        (final.Word(1, MemoryMap.TopicParking) & 1) != 0 || (final.Word(2, MemoryMap.TopicParking) & 1) != 0
            ? "A side that runs still says that it is parked."
            : null;
}
