using RpcOverShm.Diagnostics;

namespace RpcOverShm.Loans;

/// <summary>
/// Counts the bytes of the data files of one direction of a connection, and with them those of the process. A file
/// counts for as long as it is mapped, also after the end of its connection. Thread-safe.
/// </summary>
internal sealed class LoanQuota(LoanLimits limits)
{
    // Taken once for each file.
    private static readonly UninterruptibleLock s_lock = new();
    private static long s_processBytes;

    private long _bytes;

    /// <summary>The bytes of all data files that this process has mapped.</summary>
    public static long ProcessBytes
    {
        get
        {
            using (s_lock.Enter())
            {
                return s_processBytes;
            }
        }
    }

    /// <summary>The option, with its value, that leaves the least room.</summary>
    public (string Option, long Limit) Tightest
    {
        get
        {
            using (s_lock.Enter())
            {
                return limits.PerProcess - s_processBytes < limits.PerConnection - _bytes
                    ? (LoanLimits.ProcessOption, limits.PerProcess)
                    : (LoanLimits.ConnectionOption, limits.PerConnection);
            }
        }
    }

    /// <summary>
    /// Counts a file of <paramref name="wanted"/> bytes, or a smaller one if only that has room. Returns the bytes that
    /// were counted, a multiple of the unit; 0 if <paramref name="least"/> have no room.
    /// </summary>
    public long Take(long wanted, long least, long unit)
    {
        using (s_lock.Enter())
        {
            long left = Math.Min(limits.PerConnection - _bytes, limits.PerProcess - s_processBytes);
            long taken = Math.Min(wanted, left);
            taken -= taken % unit;
            if (taken < least)
            {
                return 0;
            }

            _bytes += taken;
            s_processBytes += taken;
            return taken;
        }
    }

    /// <summary>Says which limit is reached.</summary>
    public string Describe() => $"{Tightest.Option}, which is {Tightest.Limit} bytes, is reached.";

    /// <summary>Stops counting a file, which is unmapped.</summary>
    public void Give(long bytes)
    {
        using (s_lock.Enter())
        {
            _bytes -= bytes;
            s_processBytes -= bytes;
        }
    }
}
