using RpcOverShm.Protocol;

namespace RpcOverShm.Tests.Protocol;

public class FrameHeaderTests
{
    private const byte M = 1; // has a message
    private const byte H = 2; // half-close
    private const byte C = 4; // head continues
    private const byte S = 8; // single
    private const byte O = 16; // one-way
    private const byte L = 32; // loaned

    // The table of kinds, written independently of the product. A letter for each part that a kind may have: h head, p
    // payload, a argument. Frames of the connection belong to no call.
    private static readonly (string Name, byte Flags, string Parts, bool IsForConnection)?[] s_kinds =
    [
        null,
        ("CallStart", M | H | C | O, "hp", false),
        ("HeadChunk", C, "hp", false),
        ("Message", H | S | L, "pa", false),
        ("MessageChunk", H, "p", false),
        ("HalfClose", 0, "", false),
        ("Headers", C, "hp", false),
        ("End", M | C, "hp", false),
        ("Credit", 0, "a", false),
        ("Cancel", 0, "", false),
        ("GoAway", 0, "", true),
        ("Bytes", 0, "p", true),
        ("BytesEnd", 0, "", true),
        ("FileMapped", 0, "a", true),
        ("FileRefused", 0, "a", true),
        ("Returned", 0, "p", true),
        ("ReturnsWanted", 0, "", true),
        ("TopicStart", 0, "p", false),
        ("TopicEnd", 0, "p", false),
        ("TopicRead", 0, "p", false),
        ("TopicDropped", 0, "a", true),
        ("Handles", 0, "p", false),
    ];

    private static readonly int[] s_lengths = [0, 1, 16, 65535];

    private static readonly (uint Call, uint Argument, int Head, int Payload)[] s_shapes =
    [
        .. from call in new uint[] { 0, 0x0002_0000 }
           from argument in new uint[] { 0, 1, 16, uint.MaxValue }
           from head in s_lengths
           from payload in s_lengths
           select (call, argument, head, payload),
    ];

    [Test]
    public void Check_OfEveryFrame_IsTheTable()
    {
        int legal = 0;
        for (int kind = 0; kind < 256; kind++)
        {
            for (int flags = 0; flags < 256; flags++)
            {
                legal += CheckAll((byte)kind, (byte)flags);
            }
        }

        Assert.That(legal, Is.GreaterThan(100), "Some frames are legal.");
    }

    [Test]
    public void Kinds_OfTheWire_HaveTheirNumbers()
    {
        for (byte kind = 1; kind < s_kinds.Length; kind++)
        {
            Assert.That(((FrameKind)kind).ToString(), Is.EqualTo(s_kinds[kind]!.Value.Name));
        }

        Assert.That(Enum.GetValues<FrameKind>(), Has.Length.EqualTo(s_kinds.Length - 1));
        Assert.That(
            Enum.GetValues<FrameFlags>().Select(flag => (byte)flag), Is.EqualTo(new byte[] { 0, M, H, C, S, O, L }));
    }

    [TestCase(0, 0, 1u, 0u, 0, 0, "unknown kind 0")]
    [TestCase(255, 0, 1u, 0u, 0, 0, "unknown kind 255")]
    [TestCase(5, 1, 1u, 0u, 0, 0, "flags 0x1 on a HalfClose")]
    [TestCase(1, 5, 1u, 0u, 3, 3, "flags 0x5 on a CallStart")]
    [TestCase(1, 17, 1u, 0u, 3, 3, "flags 0x11 on a one-way CallStart")]
    [TestCase(1, 18, 1u, 0u, 3, 3, "flags 0x12 on a one-way CallStart")]
    [TestCase(3, 16, 1u, 3u, 0, 3, "flags 0x10 on a Message")]
    [TestCase(1, 0, 0u, 0u, 3, 3, "a CallStart for call 0")]
    [TestCase(10, 0, 7u, 0u, 0, 0, "a GoAway for call 7")]
    [TestCase(9, 0, 1u, 4u, 0, 0, "an argument of 4 on a Cancel")]
    [TestCase(6, 0, 1u, 0u, 2, 3, "a head of 2 and a payload of 3 bytes on a Headers")]
    [TestCase(3, 0, 1u, 15u, 0, 16, "a head of 0 and a payload of 16 bytes on a Message")]
    [TestCase(3, 32, 1u, 99u, 0, 15, "a head of 0 and a payload of 15 bytes on a Message")]
    [TestCase(3, 32, 1u, 3u, 0, 20, "a head of 0 and a payload of 20 bytes on a Message")]
    [TestCase(4, 32, 1u, 0u, 0, 20, "flags 0x20 on a MessageChunk")]
    [TestCase(13, 0, 7u, 0u, 0, 0, "a FileMapped for call 7")]
    [TestCase(15, 0, 0u, 1u, 0, 8, "an argument of 1 on a Returned")]
    public void Check_OfAnIllegalFrame_SaysWhatIsWrong(
        byte kind, byte flags, uint call, uint argument, int head, int payload, string problem)
    {
        Assert.That(Check(kind, flags, call, argument, head, payload), Does.Contain(problem));
    }

    private static int CheckAll(byte kind, byte flags)
    {
        int legal = 0;
        foreach ((uint call, uint argument, int head, int payload) in s_shapes)
        {
            bool isLegal = IsLegal(kind, flags, call, argument, head, payload);
            if (Check(kind, flags, call, argument, head, payload) is null != isLegal)
            {
                Assert.Fail($"{kind} {flags} {call} {argument} {head} {payload}: legal {isLegal}");
            }

            legal += isLegal ? 1 : 0;
        }

        return legal;
    }

    private static bool IsLegal(byte kind, byte flags, uint call, uint argument, int head, int payload)
    {
        if (kind >= s_kinds.Length || s_kinds[kind] is not var (name, allowed, parts, isForConnection))
        {
            return false;
        }

        int reference = (flags & L) == 0 ? 0 : 16;
        bool hasRightFlags = (flags | allowed) == allowed
            && (flags & (M | C)) != (M | C)
            && ((flags & O) == 0 || (flags & (M | H)) is 0 or (M | H));
        bool hasRightLengths = parts.Contains('h')
            ? head <= payload && ((flags & M) != 0 || head == payload)
            : head == 0 && (payload == 0 || parts.Contains('p'));
        return hasRightFlags
            && hasRightLengths
            && (call == 0) == isForConnection
            && (argument == 0 || parts.Contains('a'))
            && (name != "Message" || payload - reference <= argument)
            && payload >= reference;
    }

    private static string? Check(byte kind, byte flags, uint call, uint argument, int head, int payload) =>
        new FrameHeader((FrameKind)kind, (FrameFlags)flags, head, new CallId(call), argument, payload).Check();
}
