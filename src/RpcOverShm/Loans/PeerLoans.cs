using System.Runtime.InteropServices;
using RpcOverShm.Diagnostics;
using RpcOverShm.Protocol;
using RpcOverShm.Systems;

namespace RpcOverShm.Loans;

/// <summary>
/// The data files of the peer that this side has mapped for reading, the pieces of them that it has borrowed, and what
/// it must tell the peer: whether a file is mapped, and which pieces it gives back. The pieces outlive the link: the
/// last one of a file unmaps it. Thread-safe.
/// </summary>
/// <remarks>
/// A frame of its own for each piece that is given back costs as much as a copy of 64 KiB. So pieces wait for the next
/// frame of this side, but never while the peer has no memory: they go at once when they are an eighth of its files, or
/// <see cref="MostWaiting"/>, or when it asks, which it does when a rent finds no room (<see cref="LoanPool"/>). If
/// nothing waits when it asks, the next piece goes at once.
/// </remarks>
internal sealed class PeerLoans(LoanQuota quota)
{
    // The pieces that wait at most, so that a Returned frame is short.
    private const int MostWaiting = 64;

    // The share of the peer's files that waits at most.
    private const int WaitingShare = 8;

    private readonly UninterruptibleLock _lock = new();
    private readonly List<PeerFile> _files = []; // by number
    private readonly Queue<(uint Number, bool IsMapped)> _answers = new();
    private readonly Queue<LoanReference> _returned = new();
    private long _mappedBytes;
    private int _holds; // of all files
    private long _waitingBytes; // the blocks of the pieces in _returned
    private bool _isWanted; // the peer has asked, and got nothing since
    private volatile bool _hasNews;
    private bool _isOver; // the link has ended

    /// <summary>Called on a pool thread with the length of a piece that was never disposed.</summary>
    public required Action<int> OnLeaked { get; init; }

    /// <summary>
    /// Called, under no lock, when the peer must be told something now. Set before the first file comes.
    /// </summary>
    public Action? OnNews { get; set; }

    /// <summary>Whether there is something to tell the peer. A hint.</summary>
    public bool HasNews => _hasNews;

    /// <summary>The bytes of the files that this side has mapped, while the link lasts.</summary>
    public long MappedBytes
    {
        get
        {
            using (_lock.Enter())
            {
                return _files.Where(static file => file.IsMapped).Sum(static file => file.Notice.SizeBytes);
            }
        }
    }

    /// <summary>The bytes of the pieces that this side holds.</summary>
    public long HeldBytes { get; private set; }

    private bool IsOver
    {
        get
        {
            using (_lock.Enter())
            {
                return _isOver;
            }
        }
    }

    /// <summary>Adds a file that the peer has announced, which is then to be mapped. One thread at a time.</summary>
    /// <exception cref="ProtocolException">It is not the next number.</exception>
    public PeerFile Add(FileNotice notice)
    {
        using (_lock.Enter())
        {
            if (notice.Number != _files.Count)
            {
                throw new ProtocolException(
                    $"The peer passed a data file with the number {notice.Number}; the next one is {_files.Count}.");
            }

            var file = new PeerFile(notice);
            _files.Add(file);
            return file;
        }
    }

    /// <summary>
    /// Checks and maps a file, and tells the peer. Takes the handle over. Takes a millisecond for some ten MiB. Returns
    /// null, or why the file is not mapped: its pieces then come as bytes.
    /// </summary>
    public string? Map(PeerFile file, SafeHandle handle)
    {
        string? problem = TryMap(file, handle);
        MappedMemory? useless = null;
        using (_lock.Enter())
        {
            if (_isOver)
            {
                (useless, file.Memory) = (file.Memory, null);
            }
            else
            {
                file.IsMapped = problem is null;
                _mappedBytes += file.IsMapped ? file.Notice.SizeBytes : 0;
                _answers.Enqueue((file.Notice.Number, problem is null));
                _hasNews = true;
            }
        }

        if (useless is not null)
        {
            useless.Dispose();
            quota.Give(file.Notice.SizeBytes);
        }

        OnNews?.Invoke();
        return problem;
    }

    /// <summary>Returns the bytes of a reference that the peer has sent.</summary>
    /// <exception cref="ProtocolException">The file is not mapped, or the bytes are not within it.</exception>
    public BorrowedPiece Borrow(LoanReference reference)
    {
        using (_lock.Enter())
        {
            PeerFile? file = reference.File < _files.Count ? _files[(int)reference.File] : null;
            if (file is not { IsMapped: true })
            {
                throw new ProtocolException($"The peer refers to file {reference.File}, which is not mapped.");
            }

            if (_holds + _returned.Count == LoanReference.MostOnLoan)
            {
                throw new ProtocolException(
                    $"The peer sent a reference beyond {LoanReference.MostOnLoan} that it did not get back.");
            }

            long end = ((long)reference.Block * LoanReference.BlockBytes) + reference.Length;
            if (end > file.Notice.SizeBytes)
            {
                throw new ProtocolException(
                    $"The peer refers to {reference.Length} bytes at block {reference.Block} of file {reference.File}, "
                    + $"which has {file.Notice.SizeBytes} bytes.");
            }

            _holds++;
            file.Holds++;
            HeldBytes += reference.Length;
            ProcessCounts.AddBorrowed(reference.Length);
            return new BorrowedPiece(this, file, reference);
        }
    }

    /// <summary>
    /// Gives a piece back, once; it may wait. The last one after the end of the link unmaps its file.
    /// </summary>
    public void GiveBack(PeerFile file, in LoanReference reference)
    {
        bool isUnmapped;
        bool isNews;
        using (_lock.Enter())
        {
            _holds--;
            file.Holds--;
            HeldBytes -= reference.Length;
            ProcessCounts.AddBorrowed(-reference.Length);
            isUnmapped = _isOver && file.Holds == 0;
            isNews = !_isOver && EnqueueReturned(reference);
        }

        if (isUnmapped)
        {
            Unmap(file);
        }
        else if (isNews)
        {
            OnNews?.Invoke();
        }
    }

    /// <summary>Takes the wish of the peer, which has no memory left.</summary>
    public void OnWanted()
    {
        bool isNews;
        using (_lock.Enter())
        {
            _isWanted = !_isOver;
            isNews = _isWanted && _returned.Count > 0;
        }

        if (isNews)
        {
            OnNews?.Invoke();
        }
    }

    /// <summary>The next answer for the peer; <see cref="DropAnswer"/> follows when it is written.</summary>
    public bool TryPeekAnswer(out uint number, out bool isMapped)
    {
        using (_lock.Enter())
        {
            bool hasAnswer = _answers.TryPeek(out (uint Number, bool IsMapped) answer);
            (number, isMapped) = answer;
            return hasAnswer;
        }
    }

    public void DropAnswer()
    {
        using (_lock.Enter())
        {
            _answers.Dequeue();
            _hasNews = _answers.Count > 0 || _returned.Count > 0;
        }
    }

    /// <summary>
    /// Encodes pieces to give back, as many as have room, and returns the number of bytes. When these are written, the
    /// caller drops them.
    /// </summary>
    public int PeekReturned(Span<byte> entries)
    {
        using (_lock.Enter())
        {
            int length = 0;
            foreach (LoanReference piece in _returned)
            {
                if (length + ReturnedPiece.SizeBytes > entries.Length)
                {
                    break;
                }

                new ReturnedPiece(piece.File, piece.Block).Encode(entries[length..]);
                length += ReturnedPiece.SizeBytes;
            }

            return length;
        }
    }

    /// <summary>Drops the pieces that <see cref="PeekReturned"/> has encoded in this number of bytes.</summary>
    public void DropReturned(int length)
    {
        using (_lock.Enter())
        {
            _isWanted = false;
            for (; length > 0; length -= ReturnedPiece.SizeBytes)
            {
                _waitingBytes -= BlockBytesOf(_returned.Dequeue());
            }

            _hasNews = _answers.Count > 0 || _returned.Count > 0;
        }
    }

    /// <summary>
    /// Ends the link: nothing more is borrowed, and nothing is told. Pieces that are held stay readable.
    /// </summary>
    public void Close()
    {
        List<PeerFile> unused;
        using (_lock.Enter())
        {
            _isOver = true;
            _hasNews = false;
            OnNews = null; // pieces that live on must not keep the connection
            _answers.Clear();
            _returned.Clear();
            unused = _files.FindAll(static file => file is { IsMapped: true, Holds: 0 });
            _files.ForEach(static file => file.IsMapped = false);
        }

        unused.ForEach(Unmap);
    }

    private static long BlockBytesOf(in LoanReference reference) =>
        ((long)reference.Length + LoanReference.BlockBytes - 1) / LoanReference.BlockBytes * LoanReference.BlockBytes;

    // Under the lock. Returns whether the peer must get it now.
    private bool EnqueueReturned(in LoanReference reference)
    {
        _returned.Enqueue(reference);
        _waitingBytes += BlockBytesOf(reference);
        _hasNews = true;
        return _isWanted || _returned.Count >= MostWaiting || _waitingBytes >= _mappedBytes / WaitingShare;
    }

    private string? TryMap(PeerFile file, SafeHandle handle)
    {
        long size = file.Notice.SizeBytes;
        if (IsOver || quota.Take(size, size, LoanReference.BlockBytes) == 0)
        {
            ForeignHandles.Shared.Close(handle);
            return IsOver ? "the connection has ended." : quota.Describe();
        }

        MappedMemory? memory = null;
        try
        {
            memory = HostSystem.Current.OpenMemory(handle, size, size);
            memory.CheckRest(); // all of it, and not only what has no need to wait
            memory.ReleaseHandle();
            file.Memory = memory;
            return null;
        }
        catch (Exception exception) when (exception is SegmentException or IOException or OutOfMemoryException)
        {
            memory?.Dispose();
            quota.Give(size);
            return exception.Message;
        }
    }

    private void Unmap(PeerFile file)
    {
        file.Memory!.Dispose();
        quota.Give(file.Notice.SizeBytes);
    }
}

/// <summary>A data file of the peer. Guarded by the lock of its owner.</summary>
internal sealed class PeerFile(FileNotice notice)
{
    public FileNotice Notice => notice;

    /// <summary>The mapping; null before it, and for a file that is not mapped.</summary>
    public MappedMemory? Memory { get; set; }

    /// <summary>Whether pieces can be borrowed.</summary>
    public bool IsMapped { get; set; }

    /// <summary>The pieces that this side holds.</summary>
    public int Holds { get; set; }
}
