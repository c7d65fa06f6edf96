using System.Buffers.Binary;

namespace RpcOverShm.Perf.Quick;

[TestFixture]
[Category("Quick")]
public sealed class FrameBufferTests
{
    [Test]
    public void TryTake_BytesInPiecesOfAnySize_GivesEveryFrame([Values(1, 3, 4, 1000, 262_144)] int largestPiece)
    {
        const int seed = 99;
        var random = new Random(seed);
        int[] lengths = [0, 1, 100, 300_000, 0, 65_536, .. Enumerable.Range(0, 200).Select(_ => random.Next(3000))];
        byte[] bytes = Framed(lengths);
        var frames = new FrameBuffer();
        var found = new List<int>();
        for (int sent = 0; sent < bytes.Length;)
        {
            int length = Math.Min(random.Next(1, largestPiece + 1), Math.Min(frames.Free.Length, bytes.Length - sent));
            Assert.That(length, Is.Positive, "There is always room for more.");
            bytes.AsSpan(sent, length).CopyTo(frames.Free.Span);
            frames.Add(length);
            sent += length;
            while (frames.TryTake())
            {
                Assert.That(frames.Payload.IndexOfAnyExcept((byte)found.Count), Is.EqualTo(-1), $"frame {found.Count}");
                found.Add(frames.Payload.Length);
            }
        }

        Assert.That(found, Is.EqualTo(lengths), $"seed {seed}");
    }

    [Test]
    public void TryTake_NegativeLength_IsRefused()
    {
        var frames = new FrameBuffer();
        BinaryPrimitives.WriteInt32LittleEndian(frames.Free.Span, -1);
        frames.Add(sizeof(int));
        Assert.That(frames.TryTake, Throws.TypeOf<InvalidDataException>());
    }

    // The payload of each frame repeats its number.
    private static byte[] Framed(int[] lengths)
    {
        var bytes = new MemoryStream();
        Span<byte> length = stackalloc byte[sizeof(int)];
        for (int i = 0; i < lengths.Length; i++)
        {
            BinaryPrimitives.WriteInt32LittleEndian(length, lengths[i]);
            bytes.Write(length);
            bytes.Write(Enumerable.Repeat((byte)i, lengths[i]).ToArray());
        }

        return bytes.ToArray();
    }
}
