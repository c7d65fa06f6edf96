using System.Runtime.InteropServices;
using RpcOverShm.Diagnostics;
using RpcOverShm.Protocol;

namespace RpcOverShm.Loans;

/// <summary>
/// The data files that this side has made for one link, and the pieces that it has rented out of them. A piece is free
/// again when neither its payload, nor a frame, nor the peer has it. Each file is passed to the peer once, when it is
/// made; its pieces can be lent when the peer has mapped it. Thread-safe.
/// </summary>
internal sealed partial class LoanPool(
    LoanQuota quota, Func<FileNotice, SafeHandle, bool> offer, Action<string> onShortage)
{
    /// <summary>The length from which on a reference costs less than a copy.</summary>
    public const int SmallestPiece = 64 << 10;

    private const long SmallestFile = 1 << 20;

    // Taken for each rent, loan and return. Not while a file is made, which takes a millisecond for each 4 MiB or so.
    private readonly UninterruptibleLock _lock = new();
    private readonly List<LoanFile> _files = []; // by number
    private bool _isMaking; // a thread makes the next file
    private int _loans;   // of all places
    private volatile LoanWish _wish;
    private bool _isOver; // the link has ended
    private bool _isComplete; // no more files are made
    private long _notBefore;  // time stamp of the next try to make one

    /// <summary>Called on a pool thread with the length of a piece that was never disposed.</summary>
    public required Action<int> OnLeaked { get; init; }

    /// <summary>The time without new files after one that could not be made or passed.</summary>
    public TimeSpan PauseAfterFailure { get; init; } = TimeSpan.FromSeconds(1);

    /// <summary>Called before the thread of a rent makes a file, which takes long.</summary>
    public Action BeforeMaking { get; init; } = static () => { };

    /// <summary>Called, under no lock, when the peer must be asked. Set before the first file is made.</summary>
    public Action? OnWish { get; set; }

    /// <summary>Whether the peer must be asked for the pieces that it holds back. A hint.</summary>
    public bool HasWish => _wish == LoanWish.New;

    /// <summary>The bytes of the pieces that the peer has.</summary>
    public long LentBytes => Sum(static place => place.Loans > 0);

    /// <summary>The bytes of all pieces that are not free.</summary>
    public long TakenBytes => Sum(static _ => true);

    /// <summary>The bytes of the files that the peer has mapped.</summary>
    public long MappedBytes
    {
        get
        {
            using (_lock.Enter())
            {
                return _files.Where(file => file.State == LoanFileState.Mapped).Sum(file => file.Memory.SizeBytes);
            }
        }
    }

    /// <summary>
    /// Rents a piece, and makes a file for it if need be. Waits for no other thread: while that makes a file, there is
    /// private memory.
    /// </summary>
    /// <param name="length">The length in bytes, 1 or more.</param>
    /// <param name="piece">The piece.</param>
    /// <returns>
    /// What there is instead of a piece: private memory, or none at all because the limit is reached.
    /// </returns>
    public LoanRent TryRent(int length, out LentPiece? piece)
    {
        piece = null;
        if (length < SmallestPiece)
        {
            return LoanRent.Private;
        }

        int blocks = (int)(((long)length + LoanReference.BlockBytes - 1) / LoanReference.BlockBytes);
        LoanPlace? place;
        LoanRent result = LoanRent.Piece;
        long newBytes = 0;
        string? shortage = null;
        using (_lock.Enter())
        {
            place = TryTakePlace(blocks);
            if (place is null)
            {
                result = PlanFile(blocks, out newBytes, out shortage);
            }
        }

        if (shortage is not null)
        {
            onShortage(shortage);
        }

        if (newBytes > 0)
        {
            place = TryMakeFile(blocks, newBytes);
        }

        if (place is null)
        {
            AskForReturns();
            return result;
        }

        piece = new LentPiece(this, place, length);
        return LoanRent.Piece;
    }

    /// <summary>
    /// Counts a reference that the peer is about to get. Returns false if the piece must go as bytes: it belongs to
    /// another link, the peer has not mapped its file, or the link has ended. The caller has a use of the piece.
    /// </summary>
    public bool TryLend(LentPiece piece, out LoanReference reference)
    {
        LoanPlace place = piece.Place;
        reference = new LoanReference(place.File.Number, (uint)place.Block, (uint)piece.Length);
        if (piece.Pool != this)
        {
            return false;
        }

        using (_lock.Enter())
        {
            if (_isOver || place.File.State != LoanFileState.Mapped || _loans == LoanReference.MostOnLoan)
            {
                return false;
            }

            _loans++;
            place.Loans++;
            place.Waiting++;
            return true;
        }
    }

    /// <summary>
    /// Counts a reference as one that the peer has, or takes it back. The caller has a use of the piece.
    /// </summary>
    public void OnFrameEnded(LoanPlace place, bool isSent)
    {
        using (_lock.Enter())
        {
            if (!_isOver)
            {
                place.Waiting--;
                if (!isSent)
                {
                    place.Loans--;
                    _loans--;
                }
            }
        }
    }

    /// <summary>Takes back the pieces of a Returned frame. The bytes are a private copy.</summary>
    /// <exception cref="ProtocolException">A piece is not on loan, or the frame has another length.</exception>
    public void TakeBack(ReadOnlySpan<byte> entries)
    {
        if (entries.IsEmpty || entries.Length % ReturnedPiece.SizeBytes != 0)
        {
            throw new ProtocolException(
                $"The peer returned pieces in {entries.Length} bytes; each takes {ReturnedPiece.SizeBytes}.");
        }

        using (_lock.Enter())
        {
            _wish = LoanWish.None;
            for (; !entries.IsEmpty; entries = entries[ReturnedPiece.SizeBytes..])
            {
                var returned = ReturnedPiece.Decode(entries);
                LoanPlace? place =
                    returned.File < _files.Count ? _files[(int)returned.File].Find(returned.Block) : null;
                if (place is null || place.Loans == place.Waiting)
                {
                    throw new ProtocolException(
                        $"The peer returned block {returned.Block} of file {returned.File}, which is not on loan.");
                }

                place.Loans--;
                _loans--;
                FreeIfIdle(place);
            }
        }
    }

    /// <summary>
    /// Asks the peer for the pieces that it holds back, if it has any piece: this side has no memory left. It is asked
    /// once until it returns something, and it returns the next piece at once if it holds none back. So a side that
    /// tries again gets memory as soon as the peer disposes a payload.
    /// </summary>
    public void AskForReturns()
    {
        using (_lock.Enter())
        {
            bool isAnyLent = _files.Any(static file => file.Places.Any(static place => place.Loans > 0));
            if (_isOver || _wish != LoanWish.None || !isAnyLent)
            {
                return;
            }

            _wish = LoanWish.New;
        }

        OnWish?.Invoke();
    }

    /// <summary>The peer has been asked.</summary>
    public void OnWishSent()
    {
        using (_lock.Enter())
        {
            _wish = _wish == LoanWish.New ? LoanWish.Sent : _wish;
        }
    }

    /// <summary>Takes the answer of the peer to a file.</summary>
    /// <exception cref="ProtocolException">No such file waits for an answer.</exception>
    public void OnAnswer(uint number, bool isMapped)
    {
        LoanFile? file;
        bool isUnused;
        using (_lock.Enter())
        {
            file = number < _files.Count ? _files[(int)number] : null;
            if (file is not { State: LoanFileState.Offered })
            {
                throw new ProtocolException($"The peer answered for file {number}, which waits for no answer.");
            }

            file.State = isMapped ? LoanFileState.Mapped : LoanFileState.Refused;
            _isComplete |= !isMapped;
            isUnused = !isMapped && file is { IsEmpty: true, IsPassed: true };
        }

        if (isUnused)
        {
            // This may be an event loop, and the file may be large.
            PoolWork.Queue(static work => work.Pool.Unmap(work.File), (Pool: this, File: file));
        }
    }

    /// <summary>Ends all loans with the link, once. Payloads of this side that still live keep their files.</summary>
    public void Close()
    {
        List<LoanFile> unused = [];
        using (_lock.Enter())
        {
            if (_isOver)
            {
                return;
            }

            _isOver = true;
            _isComplete = true;
            _wish = LoanWish.None;
            OnWish = null; // payloads that live on must not keep the connection
            offer = static (_, _) => false;
            foreach (LoanFile file in _files)
            {
                foreach (LoanPlace place in file.Places.ToArray())
                {
                    place.Loans = 0;
                    FreeIfIdle(place);
                }

                if (file is { IsEmpty: true, IsPassed: true, State: not LoanFileState.Refused })
                {
                    unused.Add(file);
                }
            }
        }

        unused.ForEach(Unmap);
    }

    /// <summary>Frees a place whose payload is disposed and that no frame needs.</summary>
    public void OnUnused(LoanPlace place)
    {
        bool isLast;
        using (_lock.Enter())
        {
            place.IsUsed = false;
            FreeIfIdle(place);
            isLast = place.File.IsEmpty && (_isOver || place.File.State == LoanFileState.Refused);
        }

        if (isLast)
        {
            Unmap(place.File);
        }
    }

    private static void FreeIfIdle(LoanPlace place)
    {
        if (place is { IsUsed: false, Loans: 0 })
        {
            place.File.Free(place);
        }
    }

    // Under the lock.
    private LoanPlace? TryTakePlace(int blocks)
    {
        foreach (LoanFile file in _files)
        {
            if (!_isOver
                && file is { IsPassed: true, State: not LoanFileState.Refused }
                && file.TryTake(blocks) is { } place)
            {
                return place;
            }
        }

        return null;
    }

    // Not under the lock: it takes a millisecond for some ten MiB.
    private void Unmap(LoanFile file)
    {
        file.Memory.Dispose();
        quota.Give(file.Memory.SizeBytes);
    }

    private long Sum(Func<LoanPlace, bool> isCounted)
    {
        using (_lock.Enter())
        {
            return SumUnderLock(isCounted);
        }
    }

    private long SumUnderLock(Func<LoanPlace, bool> isCounted) =>
        _files.Sum(file => file.Places.Where(isCounted).Sum(place => place.SizeBytes));
}

/// <summary>Whether the peer is asked for what it holds back.</summary>
internal enum LoanWish
{
    None,

    /// <summary>It must be asked.</summary>
    New,

    /// <summary>It was asked, and has returned nothing since.</summary>
    Sent,
}

/// <summary>The result of a rent of memory.</summary>
internal enum LoanRent
{
    /// <summary>A piece that can be lent.</summary>
    Piece,

    /// <summary>Nothing to lend: the message goes as bytes.</summary>
    Private,

    /// <summary>Nothing, because the limit of data files is reached.</summary>
    LimitReached,
}
