using System.Runtime.CompilerServices;

namespace RpcOverShm.Segments;

/// <summary>
/// The only names under which a word of shared memory is read or written. The order is in the verb; a plain access
/// would say nothing to the reader of the code and promise nothing to the processor.
/// The guarantees are those of the .NET memory model (dotnet/runtime, docs/design/specs/Memory-model.md) and of the
/// hardware: the model does not speak of other processes, but treats memory as observable.
/// </summary>
internal static class SharedMemoryOrder
{
    /// <summary>
    /// Reads a word; what its writer stored before releasing it is visible afterwards. Never Interlocked.Read: that is
    /// a compare-exchange and faults on the peer's read-only pages (dotnet/runtime#118390).
    /// </summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public static long ReadAcquire(ref readonly long word) => Volatile.Read(in word);

    /// <summary>The same for half a word: what a sleeping thread compares.</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public static uint ReadAcquire(ref readonly uint halfWord) => Volatile.Read(in halfWord);

    /// <summary>The same for eight bytes of a record: read once, never looked at in place.</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public static ulong ReadAcquire(ref readonly ulong bytes) => Volatile.Read(in bytes);

    /// <summary>Stores a word after everything stored before. Does not order it before later loads.</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public static void WriteRelease(ref long word, long value) => Volatile.Write(ref word, value);

    /// <summary>
    /// Stores a word and completes the store before any later load: the store half of every store-then-look step of the
    /// waiting protocol. One locked exchange, cheaper than a store and a barrier.
    /// </summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public static void WriteFenced(ref long word, long value) => Interlocked.Exchange(ref word, value);
}
