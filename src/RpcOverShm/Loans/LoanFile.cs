using RpcOverShm.Protocol;
using RpcOverShm.Systems;

namespace RpcOverShm.Loans;

/// <summary>
/// A data file of this side, and the places in it that are taken. A place has whole blocks; the first gap that is large
/// enough takes the next one. Nothing of this lies in shared memory. Guarded by the lock of its pool.
/// </summary>
internal sealed class LoanFile(uint number, MappedMemory memory)
{
    // Each at its first block.
    private readonly LoanPlace?[] _places = new LoanPlace?[memory.SizeBytes / LoanReference.BlockBytes];

    public uint Number => number;

    public MappedMemory Memory => memory;

    public LoanFileState State { get; set; }

    /// <summary>Whether the peer knows the file, so that its places may be taken.</summary>
    public bool IsPassed { get; set; }

    public bool IsEmpty => Places.Count == 0;

    /// <summary>The places that are taken.</summary>
    public HashSet<LoanPlace> Places { get; } = [];

    /// <summary>Takes the first place for this number of blocks; null if there is no such gap.</summary>
    public LoanPlace? TryTake(int blocks)
    {
        int start = 0;
        for (int block = 0; block < _places.Length;)
        {
            if (_places[block] is { } taken)
            {
                block += taken.Blocks;
                start = block;
            }
            else if (++block - start == blocks)
            {
                var place = new LoanPlace(this, start, blocks);
                _places[start] = place;
                Places.Add(place);
                return place;
            }
        }

        return null;
    }

    /// <summary>The place that begins at a block; null if there is none.</summary>
    public LoanPlace? Find(uint block) => block < _places.Length ? _places[block] : null;

    /// <summary>Frees a place, once.</summary>
    public void Free(LoanPlace place)
    {
        _places[place.Block] = null;
        Places.Remove(place);
    }
}

/// <summary>The answer of the peer to a file.</summary>
internal enum LoanFileState : byte
{
    /// <summary>Nothing yet: its pieces go as bytes.</summary>
    Offered,

    /// <summary>It has mapped the file.</summary>
    Mapped,

    /// <summary>It does not map it.</summary>
    Refused,
}

/// <summary>Blocks of a file, from the rent until they are neither used here nor on loan.</summary>
internal sealed class LoanPlace(LoanFile file, int block, int blocks)
{
    public LoanFile File => file;

    public int Block => block;

    public int Blocks => blocks;

    public long Offset => (long)block * LoanReference.BlockBytes;

    public long SizeBytes => (long)blocks * LoanReference.BlockBytes;

    /// <summary>Whether the payload or a frame that waits still uses the bytes.</summary>
    public bool IsUsed { get; set; } = true;

    /// <summary>The references that the peer has, and those of frames that wait.</summary>
    public int Loans { get; set; }

    /// <summary>Those of frames that wait: the peer cannot return them yet.</summary>
    public int Waiting { get; set; }
}
