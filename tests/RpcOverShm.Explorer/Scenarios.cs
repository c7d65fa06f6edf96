using RpcOverShm.Explorer.Model;
using RpcOverShm.Explorer.Roles;
using RpcOverShm.Rings;

namespace RpcOverShm.Explorer;

/// <summary>
/// The scenarios of the search. Digits are records: the digit is their payload in units of eight bytes, a string is a
/// batch that is published at once. A ring of 256 bytes takes seven records with a payload.
/// </summary>
internal static class Scenarios
{
    private const int RecordBytes = 32;

    public static IReadOnlyList<Scenario> All { get; } =
        [.. Honest(), .. Crashes(), .. Hostile(), .. TopicScenarios.All];

    /// <summary>Scenarios with more records, roles and lies. Their states are many millions.</summary>
    public static IReadOnlyList<Scenario> Deep { get; } =
    [
        Records("deep data", RecordRoles.Writer("12", "", "0", "2", "11", "1"), 7) with { SpuriousWakes = 2 },
        Records("deep space", RecordRoles.FilledWriter("0000000", "0000", "0000"), 15) with { Capacity = 128 },
        Both("deep both directions", RecordRoles.Writer("1", "1"), 1, RecordRoles.Writer("1"), 2),
        Stream("deep stream", [112, 24, 24], 40),
        HostileWriter("deep hostile writer", "12", "0", VictimRoles.Reader(0, 3)) with { Pokes = 2 },
        .. TopicScenarios.Deep,
    ];

    private static IEnumerable<Scenario> Honest()
    {
        yield return Records("data", RecordRoles.Writer("1", "1", "1"), 3);
        yield return Records("data, batches", RecordRoles.Writer("12", "", "0", "2"), 4) with { SpuriousWakes = 1 };
        yield return Records("space", RecordRoles.FilledWriter("1111111", "1", "1"), 9);
        yield return Records("space, padding", RecordRoles.FilledWriter("0111111", "11"), 9);
        yield return Records("space, twice", RecordRoles.FilledWriter("000", "000"), 6) with { Capacity = 64 };
        yield return Growth("growth", "11", ["1", "11"], 512) with { Capacity = 256 };
        yield return Growth("growth, second ring full", "00", ["000", "0"], 64) with { Capacity = 64 };
        yield return Records("space, bells", RecordRoles.FilledWriter("0000000", "0"), 8) with
        {
            Capacity = 128,
            HasBells = true,
        };
        yield return Records("data, bells", RecordRoles.Writer("1", "1"), 2) with { HasBells = true };
        yield return new Scenario(
            "data, loop",
            256,
            new RoleSpec("writer", 0, RecordRoles.Writer("1", "1", "1")),
            new RoleSpec("loop", 1, RecordRoles.Loop(3)))
        {
            AtEnd = final => Unparked(final, 0, 1),
        };
        yield return new Scenario(
            "space, loops",
            128,
            new RoleSpec("writing loop", 0, RecordRoles.LoopWriter("0000000", "0", "0")),
            new RoleSpec("loop", 1, RecordRoles.Loop(9)))
        {
            AtEnd = final => Unparked(final, 0, 1),
        };
        yield return new Scenario(
            "two rings",
            256,
            new RoleSpec("A", 0, RecordRoles.Caller(2, "1")),
            new RoleSpec("B", 1, RecordRoles.Answerer(2, "1")))
        {
            AtEnd = final => Unparked(final, 0, 1),
        };
        yield return new Scenario(
            "armed for another",
            256,
            new RoleSpec("A.writer", 0, RecordRoles.Writer("1", "1")),
            new RoleSpec("B.caller", 1, LoopRoles.Caller),
            new RoleSpec("B.loop", 1, LoopRoles.Sleeper));
        yield return Both("both directions", RecordRoles.Writer("0"), 1, RecordRoles.Writer("1"), 1);
        yield return Stream("stream, data", [0, 8, 8], 16);
        yield return Stream("stream, space", [112, 8], 48);
        yield return new Scenario(
            "stream, close",
            256,
            new RoleSpec("A.writer", 0, StreamRoles.Writer(0, 8)),
            new RoleSpec("A.watch", 0, RecordRoles.WatchPeer),
            new RoleSpec("B.reader", 1, StreamRoles.Reader(16)),
            new RoleSpec("B.closer", 1, StreamRoles.Close))
        {
            HasEvents = true,
            HasRawReads = true,
        };
    }

    private static IEnumerable<Scenario> Crashes()
    {
        yield return new Scenario(
            "writer dies",
            256,
            new RoleSpec("A.writer", 0, RecordRoles.Writer("1", "11")),
            new RoleSpec("B.reader", 1, RecordRoles.Reader(3)),
            new RoleSpec("B.watch", 1, RecordRoles.WatchPeer))
        {
            HasEvents = true,
            Mortal = 0,
            AtEnd = final => final.Result(1) * RecordBytes == final.Word(0, MemoryMap.Tail)
                ? Unparked(final, 1)
                : $"{final.Result(1)} records were read, and {final.Word(0, MemoryMap.Tail)} bytes were published.",
        };
        yield return new Scenario(
            "reader dies",
            256,
            new RoleSpec("A.writer", 0, RecordRoles.FilledWriter("1111111", "1")),
            new RoleSpec("A.watch", 0, RecordRoles.WatchPeer),
            new RoleSpec("B.reader", 1, RecordRoles.Reader(8)))
        {
            HasEvents = true,
            Mortal = 1,
            AtEnd = final => Unparked(final, 0),
        };
        yield return new Scenario(
            "stream, writer dies",
            256,
            new RoleSpec("A.writer", 0, StreamRoles.Writer(0, 16)),
            new RoleSpec("B.reader", 1, StreamRoles.Reader(16)),
            new RoleSpec("B.watch", 1, RecordRoles.WatchPeer))
        {
            HasEvents = true,
            HasRawReads = true,
            Mortal = 0,
            AtEnd = final => final.Result(1) == 0 && final.Word(0, MemoryMap.Tail) > 0
                ? "Published bytes were not read."
                : Unparked(final, 1),
        };
    }

    private static IEnumerable<Scenario> Hostile()
    {
        yield return HostileWriter("hostile tail and records", "12", "0", VictimRoles.Reader(0, 3));
        yield return HostileWriter("hostile padding", "02222222", "2", VictimRoles.Reader(8, 1));
        yield return HostileWriter("hostile padding, whole ring", "12", "", VictimRoles.Reader(0, 2)) with
        {
            Pokes = 2,
            Lies = Lies.OfWholeRing,
        };
        yield return HostileWriter("hostile move", "00", "0", VictimRoles.Reader(0, 3)) with
        {
            Capacity = 128,
            SecondCapacity = 256,
            Pokes = 2,
            Lies = Lies.OfMover,
        };
        yield return new Scenario("hostile head", 128, new RoleSpec("A.writer", 0, VictimRoles.Writer(8, 2)))
        {
            Pokes = 2,
            SpuriousWakes = 1,
            Lies = Lies.OfReader,
            MaySleep = true,
        };
    }

    private static Scenario HostileWriter(string name, string before, string batch, Action<RoleContext> reader) => new(
        name,
        256,
        new RoleSpec("A.writer", 0, RecordRoles.FilledWriter(before, batch)),
        new RoleSpec("B.reader", 1, reader))
    {
        Pokes = 1,
        Lies = Lies.OfWriter,
        MaySleep = true,
    };

    private static Scenario Records(string name, Action<RoleContext> writer, int records) => new(
        name, 256, new RoleSpec("writer", 0, writer), new RoleSpec("reader", 1, RecordRoles.Reader(records)))
    {
        AtEnd = final => Unparked(final, 0, 1),
    };

    private static Scenario Growth(string name, string first, string[] second, int secondCapacity)
    {
        string all = first + string.Concat(second);
        long bytes = all.Sum(size => RecordHeader.RecordLength((size - '0') * sizeof(long)));
        return Records(name, RecordRoles.GrowingWriter(first, second), all.Length) with
        {
            SecondCapacity = secondCapacity,
            AtEnd = final => final.Word(0, MemoryMap.Tail) == bytes + RecordHeader.SizeBytes
                ? Unparked(final, 0, 1)
                : "The writer did not move once.",
        };
    }

    private static Scenario Both(
        string name, Action<RoleContext> ofA, int toA, Action<RoleContext> ofB, int toB)
    {
        return new Scenario(
            name,
            256,
            new RoleSpec("A.writer", 0, ofA),
            new RoleSpec("A.reader", 0, RecordRoles.Reader(toA)),
            new RoleSpec("B.writer", 1, ofB),
            new RoleSpec("B.reader", 1, RecordRoles.Reader(toB)))
        {
            AtEnd = final => Unparked(final, 0, 1),
        };
    }

    private static Scenario Stream(string name, int[] writes, int bufferBytes) => new(
        name,
        256,
        new RoleSpec("writer", 0, StreamRoles.Writer(writes[0], writes[1..])),
        new RoleSpec("reader", 1, StreamRoles.Reader(bufferBytes)))
    {
        HasRawReads = true,
        AtEnd = final => final.Result(1) == writes.Sum() ? Unparked(final, 0, 1) : "Bytes are missing.",
    };

    private static string? Unparked(FinalState final, params int[] processes) =>
        Array.Exists(
            processes,
            process => final.Word(process, MemoryMap.ParkedForData) != 0
                || final.Word(process, MemoryMap.ParkedForSpace) != 0)
            ? "A side that runs still says that it is parked."
            : null;
}
