using System.Diagnostics;
using System.Numerics;
using RpcOverShm.Protocol;
using RpcOverShm.Systems;

namespace RpcOverShm.Loans;

/// <content>New files: made, passed to the peer, or dropped.</content>
internal sealed partial class LoanPool
{
    // Under the lock. Returns what there is instead of a piece, unless a file of so many bytes is made now. They are
    // counted, and this thread is the only one that makes a file.
    private LoanRent PlanFile(int blocks, out long size, out string? shortage)
    {
        (size, shortage) = (0, null);
        if (_isComplete || _isMaking || Stopwatch.GetTimestamp() < _notBefore)
        {
            return LoanRent.Private;
        }

        long least = (long)blocks * LoanReference.BlockBytes;
        if (_files.Count == FileNotice.MostFiles || least > FileNotice.LargestFile)
        {
            shortage =
                $"a connection has {FileNotice.MostFiles} files of at most {FileNotice.LargestFile} bytes.";
            return LoanRent.Private;
        }

        long last = _files.Count > 0 ? _files[^1].Memory.SizeBytes : 0;
        long wanted = Math.Max(Math.Max(SmallestFile, 2 * last), (long)BitOperations.RoundUpToPowerOf2((ulong)least));
        size = quota.Take(Math.Min(wanted, FileNotice.LargestFile), least, LoanReference.BlockBytes);
        if (size == 0)
        {
            // Only what is rented and not given back is the user's to change.
            if (least <= quota.PerConnection && SumUnderLock(static _ => true) + least > quota.PerConnection)
            {
                return LoanRent.LimitReached;
            }

            shortage = quota.Describe();
            return LoanRent.Private;
        }

        _isMaking = true;
        return LoanRent.Private;
    }

    // Makes the file that was planned, and takes the first place in it; null if it could not be made or passed.
    private LoanPlace? TryMakeFile(int blocks, long size)
    {
        LoanFile? file = null;
        LoanPlace? place = null;
        try
        {
            BeforeMaking();
            file = TryCreate(size);
            bool isPassed = file is not null && TryOffer(file);
            using (_lock.Enter())
            {
                if (isPassed && !_isOver)
                {
                    file!.IsPassed = true;
                    place = file.TryTake(blocks);
                    _isMaking = false;
                }
            }

            return place;
        }
        finally
        {
            if (place is null)
            {
                Drop(file, size);
            }
        }
    }

    // Not tried again at once: each rent would make and drop a file of the same size.
    private void Drop(LoanFile? file, long size)
    {
        using (_lock.Enter())
        {
            _notBefore = Stopwatch.GetTimestamp() + (long)(PauseAfterFailure.TotalSeconds * Stopwatch.Frequency);
            _files.Remove(file!);
            _isMaking = false;
        }

        file?.Memory.Dispose();
        quota.Give(size);
    }

    private LoanFile? TryCreate(long size)
    {
        try
        {
            MappedMemory memory = HostSystem.Current.CreateMemory(size, size);
            LoanFile file;
            using (_lock.Enter())
            {
                file = new LoanFile((uint)_files.Count, memory);
                _files.Add(file); // before the peer knows it, which may answer before this thread runs again
            }

            return file;
        }
        catch (SegmentException exception)
        {
            onShortage(exception.Message);
            return null;
        }
    }

    private bool TryOffer(LoanFile file)
    {
        try
        {
            bool isPassed = offer(new FileNotice(file.Number, file.Memory.SizeBytes), file.Memory.Handle);
            file.Memory.ReleaseHandle();
            if (!isPassed)
            {
                onShortage("The peer does not read its socket, or the connection has ended.");
            }

            return isPassed;
        }
        catch (SegmentException exception)
        {
            onShortage(exception.Message);
            return false;
        }
    }
}
