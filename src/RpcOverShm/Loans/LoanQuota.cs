using RpcOverShm.Diagnostics;

namespace RpcOverShm.Loans;

/// <summary>
/// Counts the bytes of the data files of one direction of a connection, and with them those of the process: what it has
/// made and what it maps of its peers apart, so that no peer can use up what this process may make. A file counts for
/// as long as it is mapped, also after the end of its connection. Thread-safe.
/// </summary>
/// <param name="limits">The limits of each direction.</param>
/// <param name="isOfPeer">Whether the files are the peer's.</param>
internal sealed class LoanQuota(LoanLimits limits, bool isOfPeer = false)
{
    /// <summary>
    /// The data files that this process maps at most, so that mappings stay for rings and for the rest of the process.
    /// </summary>
    public const int MostFiles = 8192;

    // Taken once for each file.
    private static readonly UninterruptibleLock s_lock = new();
    private static readonly long[] s_bytes = new long[2]; // of own files, of those of peers
    private static int s_files;

    private long _bytes;

    /// <summary>The bytes of all data files that this process has mapped.</summary>
    public static long ProcessBytes
    {
        get
        {
            using (s_lock.Enter())
            {
                return s_bytes.Sum();
            }
        }
    }

    /// <summary>The limit for this direction of the connection.</summary>
    public long PerConnection => limits.PerConnection;

    private ref long ProcessBytesOfDirection => ref s_bytes[isOfPeer ? 1 : 0];

    /// <summary>
    /// Counts a file of <paramref name="wanted"/> bytes, or a smaller one if only that has room. Returns the bytes that
    /// were counted, a multiple of the unit; 0 if <paramref name="least"/> have no room.
    /// </summary>
    public long Take(long wanted, long least, long unit)
    {
        using (s_lock.Enter())
        {
            long left = Math.Min(limits.PerConnection - _bytes, limits.PerProcess - ProcessBytesOfDirection);
            long taken = Math.Min(wanted, left);
            taken -= taken % unit;
            if (taken < least || s_files == MostFiles)
            {
                return 0;
            }

            _bytes += taken;
            ProcessBytesOfDirection += taken;
            s_files++;
            return taken;
        }
    }

    /// <summary>Says which limit leaves the least room.</summary>
    public string Describe()
    {
        using (s_lock.Enter())
        {
            if (s_files == MostFiles)
            {
                return $"this process has mapped {MostFiles} files for payloads, which is the most.";
            }

            return limits.PerProcess - ProcessBytesOfDirection < limits.PerConnection - _bytes
                ? $"{LoanLimits.ProcessOption}, which is {limits.PerProcess} bytes, is reached."
                : $"{LoanLimits.ConnectionOption}, which is {limits.PerConnection} bytes, is reached.";
        }
    }

    /// <summary>Stops counting a file, which is unmapped.</summary>
    public void Give(long bytes)
    {
        using (s_lock.Enter())
        {
            _bytes -= bytes;
            ProcessBytesOfDirection -= bytes;
            s_files--;
        }
    }
}
