using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;
using RpcOverShm.Diagnostics;
using RpcOverShm.Loans;
using RpcOverShm.Protocol;

namespace RpcOverShm.Tests.Loans;

/// <summary>When the files of a pool go, and what they keep until then.</summary>
[NonParallelizable]
[LinuxOnly("Windows passes no memory after the handshake, so nothing is lent there.")]
public class LoanPoolEndTests
{
    private const int MiB = 1 << 20;

    private readonly long _before = LoanQuota.ProcessBytes;

    // The answer comes on an event loop, and a large file takes long to unmap.
    [Test]
    public void Refusal_OfAFileThatNobodyUses_IsUnmappedByThePool()
    {
        using var sides = new LoanSides(borrowerLimit: MiB);
        sides.Rent(2 * MiB).Dispose();
        long during = 0;
        WithoutPool(() =>
        {
            sides.MapFiles();
            during = LoanQuota.ProcessBytes - _before;
        });

        Assert.That(during, Is.EqualTo(2 * MiB));
        Assert.That(() => LoanQuota.ProcessBytes, Is.EqualTo(_before).After(20_000, 2));
    }

    [Test]
    public void Close_WithAPayload_KeepsNothingOfWhatPassesFiles()
    {
        (LentPiece piece, WeakReference passed) = RentAndClose();

        GC.Collect();
        GC.WaitForPendingFinalizers();
        GC.Collect();

        Assert.That(passed.IsAlive, Is.False);
        piece.Memory.Span.Fill(1);
        piece.Dispose();
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static (LentPiece Piece, WeakReference Passed) RentAndClose()
    {
        var passed = new List<FileNotice>();
        var pool = new LoanPool(new LoanQuota(new LoanLimits(MiB, long.MaxValue)), Pass, static _ => { })
        {
            OnLeaked = static _ => { },
        };
        Assert.That(pool.TryRent(MiB, out LentPiece? piece), Is.EqualTo(LoanRent.Piece));
        pool.Close();
        Assert.That(passed, Has.Count.EqualTo(1));
        return (piece!, new WeakReference(passed));

        bool Pass(FileNotice notice, SafeHandle handle)
        {
            passed.Add(notice);
            return !handle.IsClosed;
        }
    }

    // Work that is queued meanwhile does not run: the pool has not one thread more than for what is before it.
    private static void WithoutPool(Action action)
    {
        ThreadPool.GetMaxThreads(out int threads, out int ports);
        var isOver = new TaskCompletionSource();
        Assert.That(ThreadPool.SetMaxThreads(Environment.ProcessorCount, ports));
        try
        {
            for (int i = 0; i < Environment.ProcessorCount; i++)
            {
                PoolWork.Queue(static isOver => isOver.Wait(Timeouts.Wait), isOver.Task);
            }

            action();
        }
        finally
        {
            isOver.SetResult();
            ThreadPool.SetMaxThreads(threads, ports);
        }
    }
}
