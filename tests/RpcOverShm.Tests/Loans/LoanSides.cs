using System.Runtime.InteropServices;
using Microsoft.Win32.SafeHandles;
using RpcOverShm.Loans;
using RpcOverShm.Protocol;

namespace RpcOverShm.Tests.Loans;

/// <summary>
/// The lending and the borrowing half of one direction of a link, joined in this process: the test carries the files
/// and the answers over.
/// </summary>
internal sealed class LoanSides : IDisposable
{
    private readonly Queue<(FileNotice Notice, SafeFileHandle Handle)> _passed = new();

    public LoanSides(long lenderLimit = 64 << 20, long borrowerLimit = 64 << 20, long? processLimit = null)
    {
        long process = processLimit ?? long.MaxValue;
        Pool = new LoanPool(new LoanQuota(new LoanLimits(lenderLimit, process)), Pass, Problems.Add)
        {
            OnLeaked = Leaks.Add,
            PauseAfterFailure = TimeSpan.Zero,
            BeforeMaking = () => OnMaking(),
        };
        Peer = new PeerLoans(new LoanQuota(new LoanLimits(borrowerLimit, process), isOfPeer: true))
        {
            OnLeaked = Leaks.Add,
        };
    }

    public LoanPool Pool { get; }

    public PeerLoans Peer { get; }

    /// <summary>Called before a file is made.</summary>
    public Action OnMaking { get; set; } = static () => { };

    /// <summary>Whether files can be passed.</summary>
    public bool IsOpen { get; set; } = true;

    public List<string> Problems { get; } = [];

    public List<int> Leaks { get; } = [];

    /// <summary>The sizes of the files that were made.</summary>
    public List<long> Files { get; } = [];

    /// <summary>Rents a piece; fails the test without one.</summary>
    public LentPiece Rent(int length)
    {
        Assert.That(Pool.TryRent(length, out LentPiece? piece), Is.EqualTo(LoanRent.Piece));
        return piece!;
    }

    /// <summary>Maps the files that were passed, and carries the answers back. Returns the problems.</summary>
    public List<string?> MapFiles()
    {
        var problems = new List<string?>();
        while (_passed.TryDequeue(out (FileNotice Notice, SafeFileHandle Handle) passed))
        {
            problems.Add(Peer.Map(Peer.Add(passed.Notice), passed.Handle));
        }

        while (Peer.TryPeekAnswer(out uint number, out bool isMapped))
        {
            Pool.OnAnswer(number, isMapped);
            Peer.DropAnswer();
        }

        return problems;
    }

    /// <summary>Lends a piece and borrows it on the other side.</summary>
    public BorrowedPiece Lend(LentPiece piece)
    {
        Assert.That(piece.TryAddUse());
        Assert.That(Pool.TryLend(piece, out LoanReference reference));
        piece.EndFrame(isSent: true);
        return Peer.Borrow(reference);
    }

    /// <summary>Carries the returned pieces back. Returns how many.</summary>
    public int CarryBack()
    {
        byte[] entries = new byte[64];
        int count = 0;
        int length;
        while ((length = Peer.PeekReturned(entries)) > 0)
        {
            Pool.TakeBack(entries.AsSpan(0, length));
            Peer.DropReturned(length);
            count += length / ReturnedPiece.SizeBytes;
        }

        return count;
    }

    public void Dispose()
    {
        Pool.Close();
        Peer.Close();
        while (_passed.TryDequeue(out (FileNotice Notice, SafeFileHandle Handle) passed))
        {
            passed.Handle.Dispose();
        }
    }

    private bool Pass(FileNotice notice, SafeHandle handle)
    {
        if (IsOpen)
        {
            Files.Add(notice.SizeBytes);
            _passed.Enqueue((notice, Descriptors.Duplicate(handle)));
        }

        return IsOpen;
    }
}
