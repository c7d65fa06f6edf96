using RpcOverShm.Protocol;

namespace RpcOverShm.Tests.Protocol;

public class HelloTests
{
    private static readonly Vectors s_vectors = Vectors.Load("hello.txt");
    private static readonly Guid s_id = Guid.Parse("00112233-4455-6677-8899-aabbccddeeff");

    private static readonly Dictionary<string, Hello> s_cases = new()
    {
        ["client-calls"] = new Hello
        {
            Type = HelloType.Client,
            Purpose = ConnectionPurpose.Calls,
            ConnectionId = s_id,
            Limits = new PeerLimits(1 << 20, 256 << 10, 0, 64 << 10),
        },
        ["server-stream"] = new Hello
        {
            Type = HelloType.Server,
            Purpose = ConnectionPurpose.ByteStream,
            ConnectionId = s_id,
            Limits = new PeerLimits(64 << 10, 64 << 10, 65536, 16 << 20) { MaxRunning = 1000 },
        },
        ["refusal"] = new Hello
        {
            Type = HelloType.Refusal,
            RefusalReason = RefusalReason.NoResources,
            RefusalText = "grün!",
        },
        ["refusal-without-text"] = new Hello
        {
            Type = HelloType.Refusal,
            Purpose = ConnectionPurpose.Calls,
            RefusalReason = RefusalReason.Violation,
        },
    };

    private static IEnumerable<string> Names => s_vectors.Names;

    [TestCaseSource(nameof(Names))]
    public void Encode_OfAHello_IsTheVector(string name)
    {
        s_vectors.AssertIs(name, s_cases[name].Encode());
    }

    [TestCaseSource(nameof(Names))]
    public void Decode_OfTheVector_IsTheHello(string name)
    {
        byte[] bytes = s_vectors[name];

        Assert.That(Hello.PeekLength(bytes), Is.EqualTo(bytes.Length));
        Assert.That(Hello.Decode(bytes), Is.EqualTo(s_cases[name]));
    }

    [Test]
    public void PeekLength_OfTooFewBytes_WaitsForMore()
    {
        byte[] bytes = s_vectors["client-calls"];
        for (int length = 0; length < Hello.CommonSizeBytes; length++)
        {
            Assert.That(Hello.PeekLength(bytes.AsSpan(0, length)), Is.Null);
        }

        Assert.That(Hello.PeekLength(bytes.AsSpan(0, Hello.CommonSizeBytes)), Is.EqualTo(64));
    }

    [Test]
    public void PeekLength_OfAnyWrongByteOfTheMagic_ThrowsAtThatByte()
    {
        for (int i = 0; i < 8; i++)
        {
            byte[] bytes = s_vectors["client-calls"][..(i + 1)];
            bytes[i] ^= 0x20;

            Assert.That(
                () => Hello.PeekLength(bytes), Throws.TypeOf<ProtocolException>().With.Message.Contains("magic"));
        }
    }

    [TestCase(0u)]
    [TestCase(23u)]
    [TestCase(4097u)]
    [TestCase(uint.MaxValue)]
    [TestCase(0x8000_0018u)]
    public void PeekLength_OfAnImpossibleLength_IsTheProtocolsFault(uint length)
    {
        byte[] bytes = s_vectors["client-calls"];
        BitConverter.TryWriteBytes(bytes.AsSpan(16), length);

        Assert.That(
            () => Hello.PeekLength(bytes), Throws.TypeOf<ProtocolException>().With.Message.Contains($"{length}"));
    }

    [TestCase(24u)]
    [TestCase(4096u)]
    public void PeekLength_AtTheLimits_IsTaken(uint length)
    {
        byte[] bytes = s_vectors["client-calls"];
        BitConverter.TryWriteBytes(bytes.AsSpan(16), length);

        Assert.That(Hello.PeekLength(bytes), Is.EqualTo((int)length));
    }

    [Test]
    public void Decode_OfAShortHello_IsTheProtocolsFault()
    {
        byte[] bytes = s_vectors["client-calls"];
        for (int length = Hello.CommonSizeBytes; length < Hello.SizeBytes; length++)
        {
            Assert.That(() => Hello.Decode(bytes.AsSpan(0, length)), Throws.TypeOf<ProtocolException>());
        }
    }

    [Test]
    public void Decode_OfALongerHello_IgnoresWhatALaterVersionAdds()
    {
        byte[] bytes = [.. s_vectors["client-calls"], .. new byte[100]];

        Assert.That(Hello.Decode(bytes), Is.EqualTo(s_cases["client-calls"]));
    }

    [TestCase("client-calls")]
    [TestCase("server-stream")]
    public void Features_OfAnyHello_AreRead(string name)
    {
        byte[] bytes = s_vectors[name];
        bytes.AsSpan(20, 4).Fill(0xFF);
        Hello expected = s_cases[name] with { Features = uint.MaxValue };

        Assert.That(Hello.Decode(bytes), Is.EqualTo(expected));
        Assert.That(expected.Encode(), Is.EqualTo(bytes));
    }

    [TestCase(0)]
    [TestCase(4)]
    [TestCase(255)]
    public void Decode_OfAnUnknownType_IsTheProtocolsFault(byte type)
    {
        byte[] bytes = s_vectors["client-calls"];
        bytes[8] = type;

        Assert.That(() => Hello.Decode(bytes), Throws.TypeOf<ProtocolException>());
    }

    [Test]
    public void Decode_OfALaterVersionsHello_ReadsTheCommonPartOnly()
    {
        // The rest may differ in a later version, even in size.
        byte[] bytes = s_vectors["client-calls"][..32];
        BitConverter.TryWriteBytes(bytes.AsSpan(10), (ushort)2);
        BitConverter.TryWriteBytes(bytes.AsSpan(12), (ushort)7);
        bytes.AsSpan(24).Fill(0xFF);

        Hello hello = Hello.Decode(bytes);

        Assert.That((hello.LowestVersion, hello.HighestVersion), Is.EqualTo(((ushort)2, (ushort)7)));
        Assert.That(hello.ConnectionId, Is.EqualTo(Guid.Empty));
    }

    [Test]
    public void Encode_OfALongRefusal_CutsTheText()
    {
        var refusal = new Hello { Type = HelloType.Refusal, RefusalText = new string('x', 10_000) };

        byte[] bytes = refusal.Encode();

        Assert.That(bytes, Has.Length.EqualTo(Hello.MaxSizeBytes));
        Assert.That(Hello.PeekLength(bytes), Is.EqualTo(Hello.MaxSizeBytes));
        Assert.That(Hello.Decode(bytes).RefusalText, Has.Length.EqualTo(Hello.MaxSizeBytes - Hello.CommonSizeBytes));
    }

    [Test]
    public void Decode_OfARefusalThatIsNoUtf8_ShowsReplacements()
    {
        byte[] bytes = s_vectors["refusal"];
        bytes[^1] = 0xFF;

        Assert.That(Hello.Decode(bytes).RefusalText, Does.EndWith("\uFFFD"));
    }

    [Test]
    public void Decode_OfAnUnknownReason_KeepsItsNumber()
    {
        byte[] bytes = s_vectors["refusal"];
        BitConverter.TryWriteBytes(bytes.AsSpan(14), (ushort)999);

        Assert.That((ushort)Hello.Decode(bytes).RefusalReason, Is.EqualTo(999));
    }
}
