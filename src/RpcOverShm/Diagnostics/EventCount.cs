using System.Numerics;
using System.Runtime.InteropServices;

namespace RpcOverShm.Diagnostics;

/// <summary>
/// Counts events of this process in one number for each processor, so that threads do not take a cache line from each
/// other. For events that are rare or cost a system call: a count is an interlocked operation. Thread-safe.
/// </summary>
internal sealed class EventCount
{
    private const uint MostParts = 64;

    private static readonly int s_parts =
        (int)BitOperations.RoundUpToPowerOf2(Math.Min((uint)Environment.ProcessorCount, MostParts));

    private readonly Part[] _parts = new Part[s_parts];

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

    /// <summary>Counts one more.</summary>
    public void Add() => Change(1);

    /// <summary>Counts one less, for what exists at a time.</summary>
    public void Remove() => Change(-1);

    private void Change(long by) =>
        Interlocked.Add(ref _parts[Thread.GetCurrentProcessorId() & (_parts.Length - 1)].Value, by);

    [StructLayout(LayoutKind.Explicit, Size = 64)]
    private struct Part
    {
        [FieldOffset(0)]
        public long Value;
    }
}
