using System.Runtime.CompilerServices;

namespace RpcOverShm.Segments;

/// <summary>
/// The low half of a 64-bit word in a segment: what a thread can sleep on. A value, so that rooms without pointers can
/// hand it to a signal. It keeps nothing alive: whoever uses one holds a reference to the segment.
/// </summary>
internal readonly unsafe struct SharedWord
{
    // Both supported processors are little-endian: the low half is at the word's own address.
    private readonly uint* _address;

    public SharedWord(ref long word) => _address = (uint*)Unsafe.AsPointer(ref word);

    public uint* Address => _address;

    /// <summary>The low 32 bits of a position, as compared by a sleeping thread.</summary>
    public static uint LowHalf(long value) => unchecked((uint)value);

    /// <summary>Reads the word as a sleeper would compare it.</summary>
    public uint Read()
    {
        // SYNC ring-tail: only compared; whoever wakes up reads the whole word anew.
        // SYNC ring-head: likewise.
        return SharedMemoryOrder.ReadAcquire(ref *_address);
    }
}
