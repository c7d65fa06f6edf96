using Google.Protobuf;
using RpcOverShm.MessagePack.Tests.Protos;
using RpcOverShm.MessagePack.Tests.RandomMessages;

namespace RpcOverShm.MessagePack.Tests.Interop;

/// <summary>Two independent libraries read the codec's bytes, and the codec reads theirs.</summary>
[TestFixture("python")]
[TestFixture("node")]
internal sealed class OtherImplementationTests(string language)
{
    private const int RandomMessages = 300;

    [Test]
    public async Task Messages_OfEveryKind_AreReadAndWritten()
    {
        using OtherImplementation other = await StartAsync();

        await CheckAsync(other, Samples.Everything);
        await CheckAsync(other, Samples.Scalars);
        await CheckAsync(other, new Nothing());
        foreach (double number in new[] { double.NaN, double.PositiveInfinity, double.Epsilon, 1e300, 1L << 53, -1.5 })
        {
            await CheckAsync(other, new Scalars { F64 = number, F32 = 0.1f });
        }

        foreach (long number in IntegersAtTheEdges())
        {
            await CheckAsync(other, new Scalars { I64 = number, U64 = (ulong)number });
        }

        foreach (int length in new[] { 31, 32, 255, 256, 65_535, 65_536 })
        {
            var raw = ByteString.CopyFrom(new byte[length]);
            await CheckAsync(other, new Scalars { Text = new string('x', length), Raw = raw });
            await CheckAsync(other, new Lists { I32 = { Enumerable.Range(0, length) } });
            await CheckAsync(
                other, new Maps { I32 = { Enumerable.Range(0, length).ToDictionary(i => -i, i => (double)i) } });
        }
    }

    [Test]
    public async Task Messages_AtRandom_AreReadAndWritten()
    {
        using OtherImplementation other = await StartAsync();

        foreach (IMessage message in RandomMessage.Sample(Everything.Descriptor, RandomMessages))
        {
            await CheckAsync(other, (Everything)message);
        }
    }

    private static IEnumerable<long> IntegersAtTheEdges() =>
        from bits in new[] { 0, 5, 7, 8, 15, 16, 31, 32, 53, 63 }
        from beside in new[] { -1, 0, 1 }
        from sign in new[] { 1, -1 }
        select unchecked(sign * ((1L << bits) + beside));

    private static async Task CheckAsync<T>(OtherImplementation other, T message)
        where T : class, IMessage<T>
    {
        (string description, byte[] rewritten) = await other.EchoAsync(Way.Compiled.Write(message));

        Assert.That(description, Is.EqualTo(Description.Of(message)));
        Assert.That(Way.Compiled.Read<T>(rewritten), Is.EqualTo(message));
    }

    private Task<OtherImplementation> StartAsync() => language == "python"
        ? OtherImplementation.StartPythonAsync()
        : OtherImplementation.StartNodeAsync();
}
