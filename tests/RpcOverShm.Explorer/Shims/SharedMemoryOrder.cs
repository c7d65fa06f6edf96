using System.Runtime.CompilerServices;
using RpcOverShm.Explorer.Model;

namespace RpcOverShm.Explorer.Shims;

/// <summary>The accessors of the product, over the model memory. The product's sources compile against these.</summary>
internal static unsafe class SharedMemoryOrder
{
    public static long ReadAcquire(ref readonly long word) => Read(Unsafe.AsPointer(ref Unsafe.AsRef(in word)));

    public static uint ReadAcquire(ref readonly uint halfWord) =>
        (uint)Read(Unsafe.AsPointer(ref Unsafe.AsRef(in halfWord)));

    public static ulong ReadAcquire(ref readonly ulong bytes) =>
        (ulong)Read(Unsafe.AsPointer(ref Unsafe.AsRef(in bytes)));

    /// <summary>A load that orders nothing; only mutants call it.</summary>
    public static long ReadPlain(ref readonly long word) => RoleRun.Current.Perform(
        new Op(OpKind.ReadPlain, RoleRun.Current.LocationOf(Unsafe.AsPointer(ref Unsafe.AsRef(in word)))));

    public static void Copy(byte* source, Span<byte> copy)
    {
        for (int at = 0; at < copy.Length; at += sizeof(long))
        {
            long bytes = Read(source + at);
            new ReadOnlySpan<byte>(&bytes, Math.Min(sizeof(long), copy.Length - at)).CopyTo(copy[at..]);
        }
    }

    /// <summary>A copy that later loads may overtake; only mutants call it.</summary>
    public static void CopyPlain(byte* source, Span<byte> copy)
    {
        for (int at = 0; at < copy.Length; at += sizeof(long))
        {
            long bytes = ReadPlain(ref *(long*)(source + at));
            new ReadOnlySpan<byte>(&bytes, Math.Min(sizeof(long), copy.Length - at)).CopyTo(copy[at..]);
        }
    }

    public static void WriteRelease(ref long word, long value) => Store(ref word, value, isRelease: true);

    /// <summary>A store that orders nothing; only mutants call it.</summary>
    public static void WritePlain(ref long word, long value) => Store(ref word, value, isRelease: false);

    public static void WriteFenced(ref long word, long value) => RoleRun.Current.Perform(
        new Op(OpKind.WriteFenced, RoleRun.Current.LocationOf(Unsafe.AsPointer(ref word)), value));

    // A sealed reader reads its private copy of the tail, which is no step.
    private static long Read(void* address) => RoleRun.Current.IsShared(address)
        ? RoleRun.Current.Perform(new Op(OpKind.Read, RoleRun.Current.LocationOf(address)))
        : *(long*)address;

    private static void Store(ref long word, long value, bool isRelease) =>
        RoleRun.Current.Store(RoleRun.Current.LocationOf(Unsafe.AsPointer(ref word)), value, isRelease);
}
