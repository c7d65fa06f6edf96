using System.Buffers.Binary;
using System.Numerics;
using System.Security.Cryptography;

namespace MessagePack;

/// <summary>
/// SipHash-2-4 under a key that is drawn once per process: nobody outside can choose values that collide.
/// </summary>
internal static class SipHash
{
    private static readonly ulong s_key0 = RandomKey();
    private static readonly ulong s_key1 = RandomKey();

    internal static int Hash(ulong value)
    {
        State state = new(s_key0, s_key1);
        state.Add(value);
        return Fold(state.Finish(8UL << 56));
    }

    internal static int Hash(ReadOnlySpan<byte> bytes)
    {
        State state = new(s_key0, s_key1);
        ulong last = (ulong)bytes.Length << 56;
        while (bytes.Length >= 8)
        {
            state.Add(BinaryPrimitives.ReadUInt64LittleEndian(bytes));
            bytes = bytes[8..];
        }

        for (int i = 0; i < bytes.Length; i++)
        {
            last |= (ulong)bytes[i] << (8 * i);
        }

        return Fold(state.Finish(last));
    }

    private static int Fold(ulong hash) => (int)(hash ^ (hash >> 32));

    private static ulong RandomKey()
    {
        Span<byte> key = stackalloc byte[8];
        RandomNumberGenerator.Fill(key);
        return BinaryPrimitives.ReadUInt64LittleEndian(key);
    }

    private struct State(ulong key0, ulong key1)
    {
        private ulong _v0 = key0 ^ 0x736f6d6570736575;
        private ulong _v1 = key1 ^ 0x646f72616e646f6d;
        private ulong _v2 = key0 ^ 0x6c7967656e657261;
        private ulong _v3 = key1 ^ 0x7465646279746573;

        internal void Add(ulong word)
        {
            _v3 ^= word;
            Round();
            Round();
            _v0 ^= word;
        }

        internal ulong Finish(ulong last)
        {
            Add(last);
            _v2 ^= 0xff;
            Round();
            Round();
            Round();
            Round();
            return _v0 ^ _v1 ^ _v2 ^ _v3;
        }

        private void Round()
        {
            _v0 += _v1;
            _v1 = BitOperations.RotateLeft(_v1, 13) ^ _v0;
            _v0 = BitOperations.RotateLeft(_v0, 32);
            _v2 += _v3;
            _v3 = BitOperations.RotateLeft(_v3, 16) ^ _v2;
            _v0 += _v3;
            _v3 = BitOperations.RotateLeft(_v3, 21) ^ _v0;
            _v2 += _v1;
            _v1 = BitOperations.RotateLeft(_v1, 17) ^ _v2;
            _v2 = BitOperations.RotateLeft(_v2, 32);
        }
    }
}
