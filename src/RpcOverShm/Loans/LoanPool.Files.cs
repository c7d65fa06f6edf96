using System.Diagnostics;
using System.Numerics;
using RpcOverShm.Protocol;
using RpcOverShm.Systems;

namespace RpcOverShm.Loans;

/// <content>New files: made, passed to the peer, or dropped.</content>
internal sealed partial class LoanPool
{
    // Under the lock for new files.
    private LoanRent TryMakeFile(int blocks, long taken, out LoanPlace? place)
    {
        place = null;
        long least = (long)blocks * LoanReference.BlockBytes;
        int number = _files.Count;
        if (number == FileNotice.MostFiles || least > FileNotice.LargestFile)
        {
            return Copied($"a connection has {FileNotice.MostFiles} files of at most {FileNotice.LargestFile} bytes.");
        }

        long last = number > 0 ? _files[^1].Memory.SizeBytes : 0;
        long wanted = Math.Max(Math.Max(SmallestFile, 2 * last), (long)BitOperations.RoundUpToPowerOf2((ulong)least));
        long size = quota.Take(Math.Min(wanted, FileNotice.LargestFile), least, LoanReference.BlockBytes);
        if (size == 0)
        {
            // Only what is rented and not given back is the user's to change.
            bool isRentedOut = least <= quota.PerConnection && taken + least > quota.PerConnection;
            return isRentedOut ? LoanRent.LimitReached : Copied(quota.Describe());
        }

        LoanFile? file = null;
        try
        {
            file = TryCreate((uint)number, size);
            bool isPassed = file is not null && TryOffer(file);
            using (_lock.Enter())
            {
                if (isPassed && !_isOver)
                {
                    file!.IsPassed = true;
                    place = file.TryTake(blocks);
                    return LoanRent.Piece;
                }
            }

            return LoanRent.Private;
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
        }

        file?.Memory.Dispose();
        quota.Give(size);
    }

    private LoanRent Copied(string reason)
    {
        onShortage(reason);
        return LoanRent.Private;
    }

    private LoanFile? TryCreate(uint number, long size)
    {
        try
        {
            var file = new LoanFile(number, HostSystem.Current.CreateMemory(size, size));
            using (_lock.Enter())
            {
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
