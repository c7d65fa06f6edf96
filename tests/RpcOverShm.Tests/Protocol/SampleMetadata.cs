using System.Text;
using Grpc.Core;
using RpcOverShm.Buffers;
using RpcOverShm.Protocol;

namespace RpcOverShm.Tests.Protocol;

/// <summary>Sample metadata, and its comparison entry by entry, in order.</summary>
internal static class SampleMetadata
{
    private const string KeyCharacters = "abcdefghijklmnopqrstuvwxyz0123456789._-";

    public static Metadata Random(Random random)
    {
        var metadata = new Metadata();
        int count = random.Next(6);
        for (int i = 0; i < count; i++)
        {
            string key = new(random.GetItems<char>(KeyCharacters, 1 + random.Next(12)));
            if (random.Next(2) == 0)
            {
                byte[] value = new byte[random.Next(20)];
                random.NextBytes(value);
                metadata.Add(key + "-bin", value);
            }
            else
            {
                metadata.Add(
                    key + "k",
                    new string([.. Enumerable.Range(0, random.Next(20)).Select(_ => (char)random.Next(0x20, 0x7F))]));
            }
        }

        return metadata;
    }

    /// <summary>Returns the visible content of metadata as text.</summary>
    public static string Describe(Metadata? metadata)
    {
        if (metadata is null)
        {
            return "none";
        }

        var text = new StringBuilder();
        foreach (Metadata.Entry entry in metadata)
        {
            text.Append(entry.Key).Append('=')
                .Append(entry.IsBinary ? Convert.ToHexString(entry.ValueBytes) : entry.Value).Append('\n');
        }

        return text.ToString();
    }

    public static byte[] Encode(Metadata metadata)
    {
        using var writer = new PooledBufferWriter();
        MetadataCodec.Encode(writer, metadata);
        return writer.WrittenSpan.ToArray();
    }

    public static Metadata Decode(ReadOnlySpan<byte> bytes)
    {
        var reader = new WireReader(bytes);
        Metadata metadata = MetadataCodec.Decode(ref reader)!;
        reader.End("a block of metadata");
        return metadata;
    }

    /// <summary>Returns a block of entries that are as small as possible.</summary>
    public static byte[] Block(ushort entries) =>
    [
        (byte)entries,
        (byte)(entries >> 8),
        .. Enumerable.Repeat<byte[]>([1, 0, (byte)'k', 0, 0, 0, 0], entries).SelectMany(entry => entry),
    ];
}
