using Microsoft.Win32.SafeHandles;
using RpcOverShm.Loans;
using RpcOverShm.Protocol;

namespace RpcOverShm.Tests.Loans;

/// <summary>Files of a peer that may lie, and pieces of them.</summary>
[NonParallelizable]
[LinuxOnly("Windows passes no memory after the handshake, so nothing is lent there.")]
public class PeerLoansTests
{
    private const int MiB = 1 << 20;

    private readonly long _before = LoanQuota.ProcessBytes;
    private readonly PeerLoans _loans =
        new(new LoanQuota(new LoanLimits(4 * MiB, long.MaxValue))) { OnLeaked = _ => { } };

    private int _news;

    [SetUp]
    public void CountNews() => _loans.OnNews = () => _news++;

    [TearDown]
    public void Close()
    {
        _loans.Close();
        Assert.That(LoanQuota.ProcessBytes, Is.EqualTo(_before), "No file is left.");
    }

    [Test]
    public void Map_OfAGoodFile_IsTold()
    {
        string? problem = Map(0, MiB, GoodFile(MiB));

        Assert.That(problem, Is.Null);
        Assert.That(_loans.HasNews);
        Assert.That(_news, Is.EqualTo(1));
        Assert.That(_loans.TryPeekAnswer(out uint number, out bool isMapped));
        Assert.That((number, isMapped), Is.EqualTo((0u, true)));
        _loans.DropAnswer();
        Assert.That(_loans.HasNews, Is.False);
    }

    [Test]
    public void Map_OfAFileThatLies_IsRefusedAndCostsNothing(
        [Values("smaller", "unsealed", "hollow", "pipe", "too large")] string lie)
    {
        string? problem = lie switch
        {
            "smaller" => Map(0, 2 * MiB, GoodFile(MiB)),
            "unsealed" => Map(0, MiB, Descriptors.MemoryFile(MiB, Descriptors.SealGrow)),
            "hollow" => Map(0, MiB, Descriptors.MemoryFile(MiB, Descriptors.AllRequired, MiB - 4096)),
            "pipe" => Map(0, MiB, Descriptors.Pipe()),
            _ => Map(0, 5 * MiB, GoodFile(5 * MiB)),
        };

        Assert.That(problem, Does.Contain(lie switch
        {
            "smaller" => "1048576 bytes; it announced 2097152",
            "unsealed" => "seals",
            "hollow" => "holes",
            "pipe" => "not a memory file",
            _ => LoanLimits.ConnectionOption,
        }));
        Assert.That(_loans.TryPeekAnswer(out _, out bool isMapped));
        Assert.That(isMapped, Is.False);
        Assert.That(LoanQuota.ProcessBytes, Is.EqualTo(_before));
        Assert.That(() => _loans.Borrow(new LoanReference(0, 0, 1)), Throws.TypeOf<ProtocolException>());
    }

    [TestCase(1u)]
    [TestCase(63u)]
    public void Add_OfAnotherNumberThanTheNext_IsAViolation(uint number) =>
        Assert.That(() => _loans.Add(new FileNotice(number, MiB)), Throws.TypeOf<ProtocolException>());

    [TestCase(0u, 0u, 1u, true)]
    [TestCase(0u, 15u, 65_536u, true)]
    [TestCase(0u, 0u, 1_048_576u, true)]
    [TestCase(0u, 0u, 1_048_577u, false)]
    [TestCase(0u, 15u, 65_537u, false)]
    [TestCase(0u, 16u, 1u, false)]
    [TestCase(0u, uint.MaxValue, 1u, false)]
    [TestCase(0u, uint.MaxValue, (uint)int.MaxValue, false)]
    [TestCase(1u, 0u, 1u, false)]
    [TestCase(uint.MaxValue, 0u, 1u, false)]
    public void Borrow_IsOfBytesWithinAMappedFile(uint file, uint block, uint length, bool isAllowed)
    {
        Map(0, MiB, GoodFile(MiB));
        var reference = new LoanReference(file, block, length);
        if (!isAllowed)
        {
            Assert.That(() => _loans.Borrow(reference), Throws.TypeOf<ProtocolException>());
            Assert.That(_loans.HeldBytes, Is.Zero);
            return;
        }

        using BorrowedPiece piece = _loans.Borrow(reference);
        Assert.That(piece.Memory.ToArray(), Is.All.Zero);
        Assert.That(_loans.HeldBytes, Is.EqualTo(length));
    }

    [Test]
    public void Return_OfManyPieces_IsToldInTheirOrderAsRoomAllows()
    {
        Map(0, MiB, GoodFile(MiB));
        _loans.DropAnswer();
        BorrowedPiece[] pieces = [.. new uint[] { 3, 0, 9 }.Select(block => _loans.Borrow(new(0, block, 10)))];
        Array.ForEach(pieces, piece => piece.Dispose());
        byte[] entries = new byte[23];

        int length = _loans.PeekReturned(entries);
        _loans.DropReturned(length);
        int rest = _loans.PeekReturned(entries.AsSpan(16));
        int last = _loans.PeekReturned(entries.AsSpan(0, 8));

        Assert.That((length, rest, last), Is.EqualTo((16, 0, 8)));
        Assert.That(ReturnedPiece.Decode(entries.AsSpan(8)), Is.EqualTo(new ReturnedPiece(0, 0)));
        Assert.That(ReturnedPiece.Decode(entries), Is.EqualTo(new ReturnedPiece(0, 9)));
        Assert.That(_news, Is.EqualTo(3), "One for the file; the first piece waits, the others are too much to wait.");
    }

    [TestCase(4, 8)] // an eighth of the files
    [TestCase(33, 64)] // the most that wait
    public void Return_OfFewPieces_WaitsForAFrame(int files, int toldAt)
    {
        using var loans = new PeerLoansOf(files * MiB);
        var told = new List<int>();
        for (int i = 1; i <= toldAt + 1; i++)
        {
            int before = loans.News;
            loans.Peer.Borrow(new LoanReference(0, (uint)(i - 1), 10)).Dispose();
            told.AddRange(Enumerable.Repeat(i, loans.News - before));
            Assert.That(loans.Peer.HasNews, "The next frame takes it along.");
        }

        Assert.That(told, Is.EqualTo(new[] { toldAt, toldAt + 1 }));
        loans.Peer.DropReturned(loans.Peer.PeekReturned(new byte[1024]));
        int after = loans.News;
        loans.Peer.Borrow(new LoanReference(0, 0, 10)).Dispose();
        Assert.That(loans.News, Is.EqualTo(after), "It begins anew.");
    }

    [Test]
    public void Wish_OfThePeer_EndsTheWait([Values] bool isOneWaiting)
    {
        using var loans = new PeerLoansOf(4 * MiB);
        if (isOneWaiting)
        {
            loans.Peer.Borrow(new LoanReference(0, 0, 10)).Dispose();
        }

        int before = loans.News;
        loans.Peer.OnWanted();
        int atOnce = loans.News - before;
        loans.Peer.Borrow(new LoanReference(0, 1, 10)).Dispose();
        int first = loans.News - before;
        loans.Peer.DropReturned(loans.Peer.PeekReturned(new byte[1024]));
        loans.Peer.Borrow(new LoanReference(0, 2, 10)).Dispose();

        Assert.That((atOnce, first), Is.EqualTo(isOneWaiting ? (1, 2) : (0, 1)));
        Assert.That(loans.News - before, Is.EqualTo(first), "The wish is fulfilled.");
    }

    [Test]
    public void Close_WithAPiece_KeepsItsFileUntilItIsDisposed()
    {
        Map(0, MiB, GoodFile(MiB));
        Map(1, 2 * MiB, GoodFile(2 * MiB));
        BorrowedPiece piece = _loans.Borrow(new LoanReference(0, 1, 100));
        int news = _news;

        _loans.Close();
        long during = LoanQuota.ProcessBytes - _before;
        byte[] bytes = piece.Memory.ToArray();
        piece.Dispose();

        Assert.That(during, Is.EqualTo(MiB), "The other file is unmapped.");
        Assert.That(bytes, Is.All.Zero);
        Assert.That(_news, Is.EqualTo(news), "Nothing is told after the end.");
        Assert.That(() => _loans.Borrow(new LoanReference(0, 0, 1)), Throws.TypeOf<ProtocolException>());
    }

    [Test]
    public void Map_AfterTheEnd_LeavesNothing()
    {
        PeerFile file = _loans.Add(new FileNotice(0, MiB));
        _loans.Close();

        _loans.Map(file, GoodFile(MiB));

        Assert.That(LoanQuota.ProcessBytes, Is.EqualTo(_before));
        Assert.That(_loans.HasNews, Is.False);
    }

    /// <summary>Loans of one file, whose answer was told.</summary>
    private sealed class PeerLoansOf : IDisposable
    {
        public PeerLoansOf(int sizeBytes)
        {
            Peer = new PeerLoans(new LoanQuota(new LoanLimits(sizeBytes, long.MaxValue))) { OnLeaked = _ => { } };
            Peer.Map(Peer.Add(new FileNotice(0, sizeBytes)), GoodFile(sizeBytes));
            Peer.DropAnswer();
            Peer.OnNews = () => News++;
        }

        public PeerLoans Peer { get; }

        public int News { get; private set; }

        public void Dispose() => Peer.Close();
    }

    private static SafeFileHandle GoodFile(int sizeBytes) =>
        Descriptors.MemoryFile(sizeBytes, Descriptors.AllRequired);

    private string? Map(uint number, int sizeBytes, SafeFileHandle handle) =>
        _loans.Map(_loans.Add(new FileNotice(number, sizeBytes)), handle);
}
