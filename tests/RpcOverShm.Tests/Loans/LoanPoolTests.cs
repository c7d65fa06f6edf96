using System.Buffers;
using RpcOverShm.Loans;
using RpcOverShm.Protocol;

namespace RpcOverShm.Tests.Loans;

/// <summary>Pieces of data files, from the rent until payload, frames and peer have given them back.</summary>
[NonParallelizable]
[LinuxOnly("Windows passes no memory after the handshake, so nothing is lent there.")]
public class LoanPoolTests
{
    private const int MiB = 1 << 20;

    private readonly long _before = LoanQuota.ProcessBytes;
    private readonly LoanSides _sides = new();

    private LoanPool Pool => _sides.Pool;

    [TearDown]
    public void Close()
    {
        _sides.Dispose();
        Assert.That(LoanQuota.ProcessBytes, Is.EqualTo(_before), "No file is left.");
    }

    [Test]
    public void Rent_OfMoreAndMore_MakesFilesOfDoublingSize()
    {
        LentPiece[] pieces = [.. new[] { 100_000, MiB, 3 * MiB, 4 * MiB, 16 * MiB }.Select(_sides.Rent)];

        Assert.That(_sides.Files, Is.EqualTo(new long[] { MiB, 2 * MiB, 4 * MiB, 8 * MiB, 16 * MiB }));
        Assert.That(pieces.Select(piece => piece.Memory.Length), Is.EqualTo(pieces.Select(piece => piece.Length)));
        Array.ForEach(pieces, piece => piece.Dispose());
        Assert.That(Pool.TakenBytes, Is.Zero);
    }

    [Test]
    public void Rent_OfMemoryThatWasGivenBack_MakesNoFile()
    {
        for (int i = 0; i < 100; i++)
        {
            using LentPiece piece = _sides.Rent(MiB);
            piece.Memory.Span.Fill((byte)i);
        }

        Assert.That(_sides.Files, Has.Count.EqualTo(1));
    }

    [Test]
    public void Rent_BelowABlock_HasNoPiece() =>
        Assert.That(Pool.TryRent(LoanPool.SmallestPiece - 1, out _), Is.EqualTo(LoanRent.Private));

    [Test]
    public void Rent_WhileAnotherThreadMakesAFile_IsPrivateAtOnce()
    {
        using var isMaking = new ManualResetEventSlim();
        using var mayMake = new ManualResetEventSlim();
        _sides.OnMaking = () =>
        {
            isMaking.Set();
            Assert.That(mayMake.Wait(Timeouts.Wait));
        };
        var maker = TestThread.Start("maker", () => _sides.Rent(MiB).Dispose());
        Assert.That(isMaking.Wait(Timeouts.Wait));

        LoanRent meanwhile = Pool.TryRent(MiB, out _);
        mayMake.Set();
        maker.Join();
        _sides.Rent(MiB).Dispose();

        Assert.That(meanwhile, Is.EqualTo(LoanRent.Private));
        Assert.That(_sides.Files, Is.EqualTo(new long[] { MiB }));
    }

    // The limit is 64 MiB.
    [TestCase(33, 31, true, new long[] { 64 * MiB })]
    [TestCase(1, 63, true, new long[] { MiB, 63 * MiB })]
    [TestCase(2, 63, false, new long[] { 2 * MiB })]
    [TestCase(64, 1, false, new long[] { 64 * MiB })]
    public void Rent_AtTheLimit_TakesWhatIsLeft(int first, int second, bool fits, long[] files)
    {
        using LentPiece one = _sides.Rent(first * MiB);
        LoanRent result = Pool.TryRent(second * MiB, out LentPiece? two);
        two?.Dispose();

        Assert.That(result, Is.EqualTo(fits ? LoanRent.Piece : LoanRent.LimitReached));
        Assert.That(_sides.Files, Is.EqualTo(files));
    }

    [Test]
    public void Rent_BeyondTheLimitOfTheProcess_IsPrivate()
    {
        using var sides = new LoanSides(processLimit: _before + (2 * MiB));
        using LentPiece one = sides.Rent(MiB);

        Assert.That(sides.Pool.TryRent(MiB + 1, out _), Is.EqualTo(LoanRent.Private));
        Assert.That(sides.Problems.Single(), Does.Contain(LoanLimits.ProcessOption));
        sides.Rent(MiB).Dispose();
    }

    [Test]
    public void Rent_OfMoreThanTheLimit_IsPrivate()
    {
        Assert.That(Pool.TryRent((64 * MiB) + 1, out _), Is.EqualTo(LoanRent.Private));
        Assert.That(_sides.Problems.Single(), Does.Contain(LoanLimits.ConnectionOption));
    }

    [Test]
    public void Rent_OfWhatFilesHaveInPieces_IsPrivate()
    {
        LentPiece[] pieces = [_sides.Rent(16 * MiB), _sides.Rent(16 * MiB)];
        Array.ForEach(pieces, static piece => piece.Dispose());

        Assert.That(Pool.TryRent(33 * MiB, out _), Is.EqualTo(LoanRent.Private), "Nothing is rented.");
    }

    [Test]
    public void TakeBack_OfWhatIsNotSentYet_IsAViolation()
    {
        using LentPiece piece = _sides.Rent(MiB);
        _sides.MapFiles();
        Assert.That(piece.TryAddUse());
        Assert.That(Pool.TryLend(piece, out _));

        Assert.That(() => Pool.TakeBack(new byte[8]), Throws.TypeOf<ProtocolException>());
        piece.EndFrame(isSent: true);
        Pool.TakeBack(new byte[8]);
        Assert.That(Pool.LentBytes, Is.Zero);
    }

    [Test]
    public void Lend_BeyondTheMost_IsRefusedAndABorrowIsAViolation()
    {
        using LentPiece piece = _sides.Rent(64 << 10);
        _sides.MapFiles();
        var borrowed = new List<BorrowedPiece>();
        for (int i = 0; i < LoanReference.MostOnLoan; i++)
        {
            borrowed.Add(_sides.Lend(piece));
        }

        Assert.That(Pool.TryLend(piece, out LoanReference reference), Is.False);
        Assert.That(() => _sides.Peer.Borrow(reference), Throws.TypeOf<ProtocolException>());
        borrowed[0].Dispose();
        Assert.That(() => _sides.Peer.Borrow(reference), Throws.TypeOf<ProtocolException>(), "It is not returned yet.");
        _sides.CarryBack();
        _sides.Lend(piece).Dispose();
        borrowed.ForEach(static one => one.Dispose());
    }

    [Test]
    public void Rent_WithoutAWayForTheFile_HasNoPieceUntilThereIsOne()
    {
        _sides.IsOpen = false;
        LoanRent before = Pool.TryRent(MiB, out _);
        _sides.IsOpen = true;

        Assert.That(before, Is.EqualTo(LoanRent.Private));
        _sides.Rent(MiB).Dispose();
        Assert.That(_sides.MapFiles(), Is.EqualTo(new string?[] { null }), "The number was not used up.");
    }

    [Test]
    public void Lend_BeforeThePeerHasMappedTheFile_IsRefused()
    {
        using LentPiece piece = _sides.Rent(MiB);

        bool before = Pool.TryLend(piece, out _);
        _sides.MapFiles();
        bool after = Pool.TryLend(piece, out LoanReference reference);

        Assert.That((before, after), Is.EqualTo((false, true)));
        Assert.That(reference, Is.EqualTo(new LoanReference(0, 0, MiB)));
    }

    [Test]
    public void Lend_OfAnotherPool_IsRefused()
    {
        using var other = new LoanSides();
        using LentPiece piece = _sides.Rent(MiB);
        _sides.MapFiles();

        Assert.That(other.Pool.TryLend(piece, out _), Is.False);
    }

    [Test]
    public void Lend_ThenRead_IsTheSameBytes()
    {
        using LentPiece piece = _sides.Rent(100_000);
        BytePattern.Of(100_000).CopyTo(piece.Memory);
        _sides.MapFiles();

        using BorrowedPiece borrowed = _sides.Lend(piece);

        SameBytes.Assert(borrowed.Memory.ToArray(), BytePattern.Of(100_000));
    }

    [Test]
    public void Piece_LentTwiceAndDisposed_IsFreeAfterTheSecondReturn()
    {
        LentPiece piece = _sides.Rent(MiB);
        _sides.MapFiles();
        BorrowedPiece[] borrowed = [_sides.Lend(piece), _sides.Lend(piece)];
        piece.Dispose();
        var taken = new List<long> { Pool.TakenBytes };
        foreach (BorrowedPiece one in borrowed)
        {
            one.Dispose();
            one.Dispose();
            Assert.That(_sides.CarryBack(), Is.EqualTo(1), "A second disposal returns nothing.");
            taken.Add(Pool.TakenBytes);
        }

        Assert.That(taken, Is.EqualTo(new long[] { MiB, MiB, 0 }));
    }

    [Test]
    public void Unlend_OfAFrameThatWasDropped_FreesWithTheDisposal()
    {
        LentPiece piece = _sides.Rent(MiB);
        _sides.MapFiles();
        Assert.That(piece.TryAddUse());
        Assert.That(Pool.TryLend(piece, out _));
        piece.Dispose();
        long during = Pool.LentBytes;
        piece.EndFrame(isSent: false);

        Assert.That((during, Pool.LentBytes, Pool.TakenBytes), Is.EqualTo(((long)MiB, 0L, 0L)));
        Assert.That(piece.TryAddUse(), Is.False, "It is gone.");
    }

    [TestCase("", "in 0 bytes")]
    [TestCase("00000000", "in 4 bytes")]
    [TestCase("0000000001000000", "block 1 of file 0, which is not on loan")]
    [TestCase("0100000000000000", "block 0 of file 1, which is not on loan")]
    [TestCase("FFFFFFFFFFFFFFFF", "which is not on loan")]
    [TestCase("00000000000000000000000000000000", "block 0 of file 0, which is not on loan")]
    public void TakeBack_OfWhatIsNotOnLoan_IsAViolation(string entries, string problem)
    {
        using LentPiece piece = _sides.Rent(MiB);
        _sides.MapFiles();
        using BorrowedPiece borrowed = _sides.Lend(piece);

        Assert.That(
            () => Pool.TakeBack(Convert.FromHexString(entries)),
            Throws.TypeOf<ProtocolException>().With.Message.Contains(problem));
    }

    [Test]
    public void Answer_ToNoQuestion_IsAViolation()
    {
        using LentPiece piece = _sides.Rent(MiB);
        _sides.MapFiles();

        Assert.That(() => Pool.OnAnswer(0, isMapped: true), Throws.TypeOf<ProtocolException>());
        Assert.That(() => Pool.OnAnswer(1, isMapped: true), Throws.TypeOf<ProtocolException>());
    }

    [Test]
    public void Refusal_OfAFile_EndsNewFilesAndNotTheOldOnes()
    {
        using var sides = new LoanSides(borrowerLimit: MiB);
        using LentPiece old = sides.Rent(64 << 10);
        sides.MapFiles();
        using LentPiece refused = sides.Rent(2 * MiB);
        List<string?> problems = sides.MapFiles();

        Assert.That(problems.Single(), Does.Contain(LoanLimits.ConnectionOption));
        Assert.That(sides.Pool.TryLend(refused, out _), Is.False);
        long before = LoanQuota.ProcessBytes;
        refused.Dispose();
        Assert.That(before - LoanQuota.ProcessBytes, Is.EqualTo(sides.Files[^1]), "The refused file is gone.");
        Assert.That(sides.Pool.TryRent(2 * MiB, out _), Is.EqualTo(LoanRent.Private));
        sides.Lend(old).Dispose();
        sides.Rent(64 << 10).Dispose();
    }

    [Test]
    public void Close_WithLoans_KeepsOnlyWhatThisSideStillUses()
    {
        LentPiece used = _sides.Rent(64 << 10);
        LentPiece lent = _sides.Rent(2 * MiB);
        _sides.MapFiles();
        using BorrowedPiece borrowed = _sides.Lend(lent);
        lent.Memory.Span.Fill(4);
        lent.Dispose();
        used.Memory.Span.Fill(8);

        Pool.Close();

        Assert.That(Pool.TakenBytes, Is.EqualTo(64 << 10));
        Assert.That(used.Memory.ToArray(), Is.All.EqualTo(8), "Its file is mapped.");
        Assert.That(borrowed.Memory.ToArray(), Is.All.EqualTo(4), "The peer has its own mapping.");
        Assert.That(Pool.TryRent(MiB, out _), Is.EqualTo(LoanRent.Private));
        Assert.That(Pool.TryLend(used, out _), Is.False);
        used.Dispose();
    }

    [Test]
    public void Pin_KeepsThePieceUntilItIsUnpinned()
    {
        LentPiece piece = _sides.Rent(MiB);
        MemoryHandle pin = piece.Memory[5..].Pin();
        piece.Dispose();
        long pinned = Pool.TakenBytes;
        pin.Dispose();

        Assert.That((pinned, Pool.TakenBytes), Is.EqualTo(((long)MiB, 0L)));
        Assert.That(() => piece.Memory, Throws.TypeOf<ObjectDisposedException>());
    }

    [Test]
    public void RentLendReturn_FromManyThreads_LosesNothing()
    {
        using var sides = new LoanSides(lenderLimit: MiB);
        sides.Rent(MiB).Dispose();
        sides.MapFiles();
        TestThread[] threads = [.. Enumerable.Range(0, 4).Select(number => TestThread.Start("lender", () =>
        {
            for (int i = 0; i < 2000; i++)
            {
                LentPiece? piece;
                while (sides.Pool.TryRent(64 << 10, out piece) == LoanRent.LimitReached)
                {
                    Thread.Yield(); // the pieces are on their way back
                }

                piece!.Memory.Span[..8].Fill((byte)number);
                using BorrowedPiece borrowed = sides.Lend(piece);
                piece.Dispose();
                Assert.That(borrowed.Memory.Span[7], Is.EqualTo((byte)number));
            }
        }))];
        while (threads.Any(thread => thread.IsAlive) || sides.CarryBack() > 0)
        {
            sides.CarryBack();
        }

        Array.ForEach(threads, thread => thread.Join());
        Assert.That((sides.Pool.TakenBytes, sides.Peer.HeldBytes), Is.EqualTo((0L, 0L)));
    }
}
