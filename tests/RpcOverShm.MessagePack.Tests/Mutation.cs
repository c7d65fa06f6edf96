using MessagePack;

namespace RpcOverShm.MessagePack.Tests;

/// <summary>Changes messages as an attacker or a broken program would.</summary>
internal static class Mutation
{
    // Codes that announce much data, and those at the edges of the code ranges.
    private static readonly byte[] s_codes =
    [
        MessagePackCode.Nil, MessagePackCode.NeverUsed, MessagePackCode.True, MessagePackCode.Bin8,
        MessagePackCode.Bin32, MessagePackCode.Ext8, MessagePackCode.Ext32, MessagePackCode.FixExt1,
        MessagePackCode.FixExt16, MessagePackCode.Float32, MessagePackCode.Float64, MessagePackCode.UInt8,
        MessagePackCode.UInt32, MessagePackCode.UInt64, MessagePackCode.Int8, MessagePackCode.Int64,
        MessagePackCode.Str8, MessagePackCode.Str32, MessagePackCode.Array16, MessagePackCode.Array32,
        MessagePackCode.Map16, MessagePackCode.Map32, 0x00, 0x7f, 0x80, 0x81, 0x8f, 0x90, 0x91, 0x9f, 0xa0, 0xa1, 0xbf,
        0xe0, 0xff,
    ];

    /// <summary>Returns a copy with one to four changes.</summary>
    public static byte[] Of(byte[] original, Random random)
    {
        List<byte> bytes = [.. original];
        for (int i = random.Next(1, 5); i > 0; i--)
        {
            Change(bytes, random);
        }

        return [.. bytes];
    }

    private static void Change(List<byte> bytes, Random random)
    {
        int at = random.Next(bytes.Count + 1);
        int length = Math.Min(random.Next(1, 9), bytes.Count - at);
        switch (random.Next(7))
        {
            case 0 when length > 0:
                bytes[at] ^= (byte)(1 << random.Next(8));
                break;
            case 1 when length > 0:
                bytes[at] = s_codes[random.Next(s_codes.Length)];
                break;
            case 2 when length > 0:
                bytes[at] = (byte)random.Next(256);
                break;
            case 3:
                bytes.RemoveRange(at, length);
                break;
            case 4:
                bytes.InsertRange(at, bytes.GetRange(at, length));
                break;
            case 5:
                bytes.Insert(at, s_codes[random.Next(s_codes.Length)]);
                break;
            case 6 when random.Next(4) == 0:
                bytes.RemoveRange(at, bytes.Count - at);
                break;
            default:
                bytes.InsertRange(random.Next(bytes.Count + 1), bytes.GetRange(at, length));
                break;
        }
    }
}
