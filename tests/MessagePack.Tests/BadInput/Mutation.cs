namespace MessagePack.Tests.BadInput;

/// <summary>Spoils messages a little, as an attacker or a defect would.</summary>
internal static class Mutation
{
    // Codes and lengths that promise much, or change what follows.
    private static readonly byte[] s_bytes =
    [
        0x00, 0x7f, 0x80, 0x8f, 0x90, 0x91, 0x9f, 0xa0, 0xbf, 0xc0, 0xc1, 0xc2, 0xc4, 0xc5, 0xc6, 0xc7, 0xc8, 0xc9,
        0xca, 0xcb, 0xcc, 0xcd, 0xce, 0xcf, 0xd0, 0xd1, 0xd2, 0xd3, 0xd4, 0xd6, 0xd7, 0xd8, 0xd9, 0xda, 0xdb, 0xdc,
        0xdd, 0xde, 0xdf, 0xe0, 0xff,
    ];

    internal static byte[] Of(byte[] message, Random random)
    {
        List<byte> bytes = [.. message];
        for (int i = random.Next(1, 5); i > 0; i--)
        {
            Mutate(bytes, random);
        }

        return [.. bytes];
    }

    private static void Mutate(List<byte> bytes, Random random)
    {
        int at = random.Next(bytes.Count + 1);
        int rest = bytes.Count - at;
        switch (random.Next(7))
        {
            case 0 when rest > 0:
                bytes[at] ^= (byte)(1 << random.Next(8));
                break;
            case 1 when rest > 0:
                bytes[at] = s_bytes[random.Next(s_bytes.Length)];
                break;
            case 2:
                bytes.Insert(at, s_bytes[random.Next(s_bytes.Length)]);
                break;
            case 3:
                bytes.RemoveRange(at, Math.Min(rest, random.Next(4)));
                break;
            case 4:
                bytes.RemoveRange(at, rest);
                break;
            case 5:
                bytes.InsertRange(at, bytes.GetRange(at, Math.Min(rest, random.Next(16))));
                break;
            case 6:
                byte[] length = new byte[4];
                random.NextBytes(length);
                bytes.InsertRange(at, [s_bytes[random.Next(s_bytes.Length)], .. length]);
                break;
        }
    }
}
