using System.Runtime.CompilerServices;

namespace RpcOverShm.Systems;

/// <summary>
/// The low half of a 64-bit word in a segment: the futex word that a thread can sleep on. The struct wraps the pointer,
/// so that namespaces without unsafe code can pass it to a signal. It does not keep the segment alive: its user must
/// see to it that the segment stays mapped.
/// </summary>
internal readonly unsafe struct SharedWord
{
    // Both supported processors are little-endian, so the low half is at the address of the word.
    private readonly uint* _address;

    public SharedWord(ref long word) => _address = (uint*)Unsafe.AsPointer(ref word);

    public uint* Address => _address;

    /// <summary>Returns the low 32 bits of a position, which a sleeping thread compares.</summary>
    public static uint LowHalf(long value) => unchecked((uint)value);

    /// <summary>Reads the value that a sleeping thread compares.</summary>
    public uint Read()
    {
        // SYNC ring-tail: only compared; a woken thread reads the whole word again.
        // SYNC ring-head: likewise.
        return SharedMemoryOrder.ReadAcquire(ref *_address);
    }
}
