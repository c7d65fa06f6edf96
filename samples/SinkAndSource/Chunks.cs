using System.Buffers.Binary;

namespace RpcOverShm.Samples;

/// <summary>The chunks of a stream. Each begins with its number.</summary>
internal static class Chunks
{
    public static async Task SendAsync(Stream stream, int count, int size)
    {
        byte[] chunk = new byte[size];
        new Random(size).NextBytes(chunk);
        for (int i = 0; i < count; i++)
        {
            BinaryPrimitives.WriteInt64LittleEndian(chunk, i);
            await stream.WriteAsync(chunk);
        }
    }

    /// <exception cref="IOException">The source has ended before its last chunk.</exception>
    /// <exception cref="InvalidDataException">A chunk is not the one that was sent.</exception>
    public static async Task ReceiveAsync(Stream stream, int count, int size)
    {
        byte[] expected = new byte[size];
        new Random(size).NextBytes(expected);
        byte[] chunk = new byte[size];
        for (int i = 0; i < count; i++)
        {
            BinaryPrimitives.WriteInt64LittleEndian(expected, i);
            await stream.ReadExactlyAsync(chunk);
            if (!chunk.AsSpan().SequenceEqual(expected))
            {
                throw new InvalidDataException($"Chunk {i} of {count} was changed.");
            }
        }
    }
}
