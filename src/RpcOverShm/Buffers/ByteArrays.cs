using System.Buffers;
using System.Numerics;
using RpcOverShm.Diagnostics;

namespace RpcOverShm.Buffers;

/// <summary>
/// The arrays of messages and frames. Those up to 32 KiB come from the shared pool of the process. That pool keeps 32
/// arrays of a size for each processor, fewer than the chains of a few large messages have. Of larger sizes it would
/// keep gigabytes after a burst. So larger arrays come from a pool of this library, which keeps at most 64 MiB of free
/// ones; the garbage collector takes the others. Thread-safe.
/// </summary>
internal static class ByteArrays
{
    /// <summary>The maximum of free bytes that this pool keeps for reuse.</summary>
    public const long MostKeptBytes = 64 << 20;

    /// <summary>The size up to which arrays come from the shared pool.</summary>
    public const int SharedBytes = 32 << 10;

    // Sizes are powers of two: 64 KiB is the first, 64 MiB the last. A larger array is never kept.
    private const int SizeCount = 11;

    // Taken for arrays only whose copy costs a hundred times as much.
    private static readonly UninterruptibleLock s_lock = new();
    private static readonly Stack<byte[]>[] s_free =
        [.. Enumerable.Range(0, SizeCount).Select(_ => new Stack<byte[]>())];

    private static long s_keptBytes;
    private static long s_rents;
    private static long s_returns;

    /// <summary>The free bytes that this pool keeps.</summary>
    public static long KeptBytes => Volatile.Read(ref s_keptBytes);

    /// <summary>The arrays of this pool that were rented so far, those of the shared pool not included.</summary>
    public static long Rents => Volatile.Read(ref s_rents);

    /// <summary>The arrays that were given back to this pool, kept or not.</summary>
    public static long Returns => Volatile.Read(ref s_returns);

    /// <summary>Returns an array of at least this size, with any content.</summary>
    public static byte[] Rent(int size)
    {
        if (size <= SharedBytes)
        {
            return UninterruptibleLock.Run(size, static size => ArrayPool<byte>.Shared.Rent(size));
        }

        int index = IndexOf(size);
        if (index >= SizeCount)
        {
            return GC.AllocateUninitializedArray<byte>(size);
        }

        using (s_lock.Enter())
        {
            s_rents++;
            if (s_free[index].TryPop(out byte[]? free))
            {
                s_keptBytes -= free.Length;
                return free;
            }
        }

        return GC.AllocateUninitializedArray<byte>(SizeOf(index));
    }

    /// <summary>Takes back an array of <see cref="Rent"/>, once. It must not be used afterwards.</summary>
    public static void Return(byte[] array)
    {
        if (array.Length <= SharedBytes)
        {
            ReturnShared(array);
            return;
        }

        // An array of another size would be too short for the next one that rents it.
        int index = IndexOf(array.Length);
        if (index >= SizeCount || array.Length != SizeOf(index))
        {
            return;
        }

        using (s_lock.Enter())
        {
            s_returns++;
            if (TryMakeRoom(index))
            {
                s_keptBytes += array.Length;
                s_free[index].Push(array);
            }
        }
    }

    // Under the lock. Arrays of the size with the most bytes go first: those of an old burst must not keep others out.
    // A very large array takes only room that is free, or it would drive out many that are used more often.
    private static bool TryMakeRoom(int index)
    {
        while (s_keptBytes + SizeOf(index) > MostKeptBytes)
        {
            int most = 0;
            for (int other = 1; other < SizeCount; other++)
            {
                most = BytesOf(other) > BytesOf(most) ? other : most;
            }

            if (most == index || SizeOf(index) > MostKeptBytes / 8)
            {
                return false;
            }

            s_keptBytes -= s_free[most].Pop().Length;
        }

        return true;
    }

    private static long BytesOf(int index) => (long)s_free[index].Count * SizeOf(index);

    private static void ReturnShared(byte[] array)
    {
        try
        {
            ArrayPool<byte>.Shared.Return(array);
        }
        catch (ThreadInterruptedException)
        {
            // It has kept the array; an older one, for which it took a lock, is left to the garbage collector.
            Thread.CurrentThread.Interrupt();
        }
    }

    private static int IndexOf(int size) => BitOperations.Log2((uint)(size - 1) / SharedBytes);

    private static int SizeOf(int index) => (SharedBytes * 2) << index;
}
