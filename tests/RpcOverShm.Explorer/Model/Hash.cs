using System.Numerics;

namespace RpcOverShm.Explorer.Model;

/// <summary>A 128-bit hash of a state. Equal hashes count as equal states.</summary>
internal struct Hash()
{
    private ulong _low = 0x9E37_79B9_7F4A_7C15;
    private ulong _high = 0xC2B2_AE3D_27D4_EB4F;

    public readonly UInt128 Value => new(_high, _low);

    public static ulong Combine(ulong seed, long value) => Mix(seed ^ Mix((ulong)value + 0x9E37_79B9_7F4A_7C15));

    public void Add(long value)
    {
        ulong mixed = Mix((ulong)value + 0x1656_67B1_9E37_79F9);
        _low = BitOperations.RotateLeft(_low ^ mixed, 27) * 0x9E37_79B1_85EB_CA87;
        _high = BitOperations.RotateLeft(_high + mixed, 31) * 0xC2B2_AE3D_27D4_EB4F;
    }

    private static ulong Mix(ulong value)
    {
        value = (value ^ (value >> 30)) * 0xBF58_476D_1CE4_E5B9;
        value = (value ^ (value >> 27)) * 0x94D0_49BB_1331_11EB;
        return value ^ (value >> 31);
    }
}
