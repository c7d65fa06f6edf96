using System.Buffers;
using MessagePack;
using RpcOverShm.MessagePack.Tests.Protos;
using RpcOverShm.Testing;

namespace RpcOverShm.MessagePack.Tests;

/// <summary>Single values have the same encoding as from the package's own writer.</summary>
internal sealed class PrimitiveTests
{
    private const int Numbers = 20_000;

    [Test]
    public void Integers_AtRandomAndAtEdges_HaveTheFormOfThePackage()
    {
        Random random = TestSeed.NewRandom();
        for (int i = 0; i < Numbers; i++)
        {
            long any = random.NextInt64(long.MinValue, long.MaxValue) >> random.Next(64);
            long number = unchecked(any + random.Next(-2, 3));
            if (number == 0)
            {
                continue;
            }

            Check(new Scalars { I64 = number }, (ref MessagePackWriter writer) =>
            {
                writer.Write(4);
                writer.Write(number);
            });
            Check(new Scalars { U64 = (ulong)number }, (ref MessagePackWriter writer) =>
            {
                writer.Write(6);
                writer.Write((ulong)number);
            });
        }
    }

    [Test]
    public void Strings_OfEveryLength_HaveTheFormOfThePackage()
    {
        for (int length = 1; length < 700; length++)
        {
            foreach (char character in "xé€")
            {
                string text = new(character, length);
                Check(new Scalars { Text = text }, (ref MessagePackWriter writer) =>
                {
                    writer.Write(14);
                    writer.Write(text);
                });
            }
        }
    }

    private static void Check(Scalars message, WriteField write)
    {
        var buffer = new ArrayBufferWriter<byte>();
        var writer = new MessagePackWriter(buffer);
        writer.WriteMapHeader(1);
        write(ref writer);
        writer.Flush();

        byte[] bytes = Way.Compiled.Write(message);

        if (!buffer.WrittenSpan.SequenceEqual(bytes))
        {
            Assert.That(Codec.Hex(bytes), Is.EqualTo(Codec.Hex(buffer.WrittenSpan.ToArray())));
        }
    }

    private delegate void WriteField(ref MessagePackWriter writer);
}
