using System.Runtime.CompilerServices;

namespace RpcOverShm.Systems;

/// <summary>
/// The accessors for words of shared memory; all code must use them. Each name states its memory order, which a plain
/// access neither documents nor guarantees. The guarantees come from the .NET memory model (dotnet/runtime,
/// docs/design/specs/Memory-model.md) and the hardware: the model does not cover other processes, but assumes that
/// others can observe memory.
/// </summary>
internal static class SharedMemoryOrder
{
    /// <summary>
    /// Reads a word with acquire order: all stores that its writer made before the release are visible afterwards.
    /// Interlocked.Read cannot replace it: a compare-exchange faults on the peer's read-only pages
    /// (dotnet/runtime#118390).
    /// </summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public static long ReadAcquire(ref readonly long word) => Volatile.Read(in word);

    /// <summary>Reads half a word with acquire order: the half that a sleeping thread compares.</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public static uint ReadAcquire(ref readonly uint halfWord) => Volatile.Read(in halfWord);

    /// <summary>Reads eight bytes of a record with acquire order, exactly once, so that there is no TOCTOU.</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public static ulong ReadAcquire(ref readonly ulong bytes) => Volatile.Read(in bytes);

    /// <summary>
    /// Copies bytes that their writer may be changing, so that the copy may be torn. All of its loads come before later
    /// loads: those of the word that tells whether it is.
    /// </summary>
    public static unsafe void Copy(byte* source, Span<byte> copy)
    {
        new ReadOnlySpan<byte>(source, copy.Length).CopyTo(copy);
        Volatile.ReadBarrier();
    }

    /// <summary>Stores a word with release order: after earlier accesses, not ordered before later loads.</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public static void WriteRelease(ref long word, long value) => Volatile.Write(ref word, value);

    /// <summary>
    /// Stores a word with a full fence: the store completes before any later load (StoreLoad). Every step of the
    /// waiting protocol that stores and then checks uses it. A locked exchange is cheaper than a store and a barrier.
    /// </summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public static void WriteFenced(ref long word, long value) => Interlocked.Exchange(ref word, value);
}
