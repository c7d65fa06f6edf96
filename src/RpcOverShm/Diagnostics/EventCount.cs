using System.Numerics;
using System.Runtime.InteropServices;

namespace RpcOverShm.Diagnostics;

/// <summary>
/// Counts events of this process in one number for each processor, so that threads do not take a cache line from each
/// other. For events that are rare or cost a system call: a count is an interlocked operation. Thread-safe.
/// </summary>
/// <param name="isStriped">Whether threads of many processors count at a time; otherwise there is one number.</param>
internal sealed class EventCount(bool isStriped = true)
{
    private const uint MostParts = 64;

    private static readonly int s_parts =
        (int)BitOperations.RoundUpToPowerOf2(Math.Min((uint)Environment.ProcessorCount, MostParts));

    private readonly Part[] _parts = new Part[isStriped ? s_parts : 1];

    /// <summary>The sum. Concurrent changes may be missing.</summary>
    public long Value
    {
        get
        {
            long sum = 0;
            for (int i = 0; i < _parts.Length; i++)
            {
                sum += Volatile.Read(ref _parts[i].Value);
            }

            return sum;
        }
    }

    /// <summary>Counts one more. Returns the part that did, for <see cref="TakeBack"/>. A full fence.</summary>
    public int Add() => Change(1);

    /// <summary>Counts one less, for what exists at a time. A full fence.</summary>
    public void Remove() => Change(-1);

    /// <summary>Takes back what was added, in the same part: a sum has it or not, but never only the change.</summary>
    public void TakeBack(int part) => Interlocked.Decrement(ref _parts[part].Value);

    private int Change(long by)
    {
        int part = Thread.GetCurrentProcessorId() & (_parts.Length - 1);
        Interlocked.Add(ref _parts[part].Value, by);
        return part;
    }

    // Two cache lines, with the number in the second one: all threads read the length of the array, which is in front
    // of the first part, and processors fetch lines in pairs.
    [StructLayout(LayoutKind.Explicit, Size = 128)]
    private struct Part
    {
        [FieldOffset(64)]
        public long Value;
    }
}
