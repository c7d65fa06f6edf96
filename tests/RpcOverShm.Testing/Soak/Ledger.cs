using System.Diagnostics;
using System.IO.MemoryMappedFiles;
using Grpc.Core;

namespace RpcOverShm.Testing.Soak;

/// <summary>
/// The record of the calls of one process, in a file that both this process and the supervisor map: a ring of
/// entries. What was appended survives <c>kill -9</c>. Any thread appends; one thread of the supervisor reads.
/// </summary>
/// <remarks>A full ring makes the writers wait for the supervisor, which reads all the time.</remarks>
public sealed unsafe class Ledger : IDisposable
{
    private const int HeadOffset = 0;
    private const int TailOffset = 64;
    private const int EntriesOffset = 128;
    private const int Capacity = 1 << 16;
    private const int StampOffset = 16;

    private readonly MemoryMappedFile _file;
    private readonly MemoryMappedViewAccessor _view;
    private readonly byte* _memory;

    public Ledger(string path)
    {
        Path = path;
        const long Length = EntriesOffset + ((long)Capacity * LedgerEntry.Bytes);
        _file = MemoryMappedFile.CreateFromFile(path, FileMode.OpenOrCreate, mapName: null, Length);
        _view = _file.CreateViewAccessor(0, Length);
        _view.SafeMemoryMappedViewHandle.AcquirePointer(ref _memory);
    }

    public string Path { get; }

    private ref long Head => ref *(long*)(_memory + HeadOffset);

    private ref long Tail => ref *(long*)(_memory + TailOffset);

    /// <summary>Appends an entry. When this returns, the entry survives the death of the process.</summary>
    public void Append(LedgerEvent what, ulong callId, SoakShape shape, StatusCode status = StatusCode.OK)
    {
        long number = Interlocked.Increment(ref Tail) - 1;
        while (number - Volatile.Read(ref Head) >= Capacity)
        {
            Thread.Sleep(1);
        }

        byte* at = At(number);
        *(LedgerEntry*)at = new LedgerEntry(callId, Stopwatch.GetTimestamp(), 0, what, shape, (byte)status);
        Volatile.Write(ref *(uint*)(at + StampOffset), unchecked((uint)(number + 1)));
    }

    /// <summary>Takes the next entry; false if there is none, or if its writer has not completed it.</summary>
    public bool TryTake(out LedgerEntry entry)
    {
        long number = Head;
        byte* at = At(number);
        if (Volatile.Read(ref *(uint*)(at + StampOffset)) != unchecked((uint)(number + 1)))
        {
            entry = default;
            return false;
        }

        entry = *(LedgerEntry*)at;
        Volatile.Write(ref Head, number + 1);
        return true;
    }

    /// <summary>Skips an entry whose writer died before it completed it; false if there is none.</summary>
    public bool TrySkip()
    {
        if (Head >= Volatile.Read(ref Tail))
        {
            return false;
        }

        Volatile.Write(ref Head, Head + 1);
        return true;
    }

    public void Dispose()
    {
        _view.SafeMemoryMappedViewHandle.ReleasePointer();
        _view.Dispose();
        _file.Dispose();
    }

    private byte* At(long number) => _memory + EntriesOffset + ((number & (Capacity - 1)) * LedgerEntry.Bytes);
}
