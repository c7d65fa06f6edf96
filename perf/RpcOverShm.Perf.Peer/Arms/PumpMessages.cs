using System.Collections.Concurrent;

namespace RpcOverShm.Perf.Peer.Arms;

/// <summary>
/// The messages of a sender: one buffer for each variant of the pattern, filled once, so that a message costs only its
/// number and not a copy of its bytes. Each has room for a prefix that the arm fills. One thread at a time; disposing
/// returns the buffers for the next order.
/// </summary>
internal sealed class PumpMessages : IDisposable
{
    // New buffers for each order would count as the arm's allocations.
    private static readonly ConcurrentDictionary<(int Size, int Prefix), ConcurrentBag<PumpMessages>> s_spare = new();

    private readonly byte[][] _buffers = new byte[PayloadPattern.Variants][];
    private readonly int _sizeBytes;
    private readonly int _prefixBytes;

    private PumpMessages(int sizeBytes, int prefixBytes)
    {
        _sizeBytes = sizeBytes;
        _prefixBytes = prefixBytes;
        for (int i = 0; i < _buffers.Length; i++)
        {
            _buffers[i] = new byte[prefixBytes + sizeBytes];
            PayloadPattern.Fill(_buffers[i].AsSpan(prefixBytes), i);
        }
    }

    public static PumpMessages OfSize(int sizeBytes, int prefixBytes = 0) =>
        Spare(sizeBytes, prefixBytes).TryTake(out PumpMessages? spare)
            ? spare
            : new PumpMessages(sizeBytes, prefixBytes);

    /// <summary>
    /// Returns the message of a number, prefix included, and counts it as served. It is valid for seven further calls.
    /// </summary>
    public byte[] Next(long number)
    {
        byte[] buffer = _buffers[number % PayloadPattern.Variants];
        PayloadPattern.SetNumber(buffer.AsSpan(_prefixBytes), number);
        ServedTally.Count(wrongBytes: 0);
        return buffer;
    }

    public void Dispose() => Spare(_sizeBytes, _prefixBytes).Add(this);

    private static ConcurrentBag<PumpMessages> Spare(int sizeBytes, int prefixBytes) =>
        s_spare.GetOrAdd((sizeBytes, prefixBytes), static _ => []);
}
