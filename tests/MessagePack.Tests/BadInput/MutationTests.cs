using System.Buffers;
using MessagePack.Tests.Fakes;
using RpcOverShm.Testing;

namespace MessagePack.Tests.BadInput;

/// <summary>
/// Messages spoilt at random: only the documented exceptions, nothing read beyond the end, no more memory than the
/// message allows, and the same result however the message is cut. <c>RPCOVERSHM_FUZZ_COUNT</c> says how many.
/// </summary>
public class MutationTests
{
    private const int UsualCount = 150_000;

    // What exceptions cost, and what a byte may: an object in a dictionary, at each of the levels that are allowed.
    private const int FreeBytes = 256 * 1024;
    private const int BytesPerByte = 512;

    private static readonly MessagePackSerializerOptions s_options = MessagePackSerializerOptions.Standard.WithSecurity(
        MessagePackSecurity.UntrustedData.WithMaximumObjectGraphDepth(16));

    private static int Count => FuzzInputs.Count(UsualCount);

    [Test]
    public void Values_OfSpoiltMessages_AreReadOrRefused()
    {
        Random random = TestSeed.NewRandom();
        int refused = 0;
        foreach (int _ in FuzzInputs.Numbers(UsualCount))
        {
            MessageSample sample = MessageSamples.All[random.Next(MessageSamples.All.Length)];
            byte[] spoilt = Mutation.Of(sample.Bytes, random);
            Type type = random.Next(8) == 0 ? typeof(object) : sample.Type;

            string whole = Measured(spoilt, () => Deserialize(type, Surrounded(spoilt, random)));
            string parts = Measured(spoilt, () => Deserialize(type, Cut(spoilt, random)));

            Assert.That(parts, Is.EqualTo(whole), () => $"{type}: {Message.Hex(spoilt)}");
            refused += whole.Length == 0 ? 1 : 0;
        }

        Console.WriteLine($"{Count} inputs, {refused} refused");
        Assert.That(refused, Is.InRange(Count / 10, Count * 19 / 20), "The mutations are too mild, or too harsh.");
    }

    [Test]
    public void Tokens_OfSpoiltMessages_AreReadOrRefused()
    {
        Random random = TestSeed.NewRandom();
        long tokens = 0;
        foreach (int _ in FuzzInputs.Numbers(UsualCount))
        {
            byte[] spoilt = Mutation.Of(MessageSamples.All[random.Next(MessageSamples.All.Length)].Bytes, random);
            int seed = random.Next();

            string whole = Measured(spoilt, () => TokenWalk.Read(Surrounded(spoilt, random), new Random(seed)));
            string parts = Measured(spoilt, () => TokenWalk.Read(Cut(spoilt, random), new Random(seed)));

            Assert.That(parts, Is.EqualTo(whole), () => $"Seed {seed}: {Message.Hex(spoilt)}");
            tokens += whole.Length;
        }

        Console.WriteLine($"{Count} inputs, {tokens} characters for their tokens");
        Assert.That(tokens, Is.GreaterThan(Count));
    }

    /// <summary>The message in the middle of bytes that must not matter.</summary>
    private static ReadOnlySequence<byte> Surrounded(byte[] bytes, Random random)
    {
        byte[] all = new byte[bytes.Length + 32];
        random.NextBytes(all);
        bytes.CopyTo(all, 16);
        return new ReadOnlySequence<byte>(all, 16, bytes.Length);
    }

    private static ReadOnlySequence<byte> Cut(byte[] bytes, Random random)
    {
        int first = random.Next(bytes.Length + 1);
        int second = random.Next(first, bytes.Length + 1);
        return Segment.Join(bytes.AsMemory(0, first), bytes.AsMemory(first, second - first), bytes.AsMemory(second));
    }

    /// <summary>What the value is when it is written again, and where it ended; nothing where it was refused.</summary>
    private static string Deserialize(Type type, ReadOnlySequence<byte> bytes)
    {
        var reader = new MessagePackReader(bytes);
        object? value;
        try
        {
            value = MessagePackSerializer.Deserialize(type, ref reader, s_options);
        }
        catch (MessagePackSerializationException)
        {
            return "";
        }

        Assert.That(reader.Consumed, Is.InRange(1, bytes.Length));
        return $"{reader.Consumed} {Message.Hex(MessagePackSerializer.Serialize(type, value))}";
    }

    private static string Measured(byte[] message, Func<string> read)
    {
        long before = GC.GetAllocatedBytesForCurrentThread();
        string result = read();
        long allocated = GC.GetAllocatedBytesForCurrentThread() - before;

        if (allocated > FreeBytes + ((long)BytesPerByte * message.Length))
        {
            Assert.Fail($"{allocated} bytes for {Message.Hex(message)}");
        }

        return result;
    }
}
