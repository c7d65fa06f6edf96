using Microsoft.Extensions.Logging;
using RpcOverShm.Diagnostics;
using RpcOverShm.Loans;
using RpcOverShm.Systems;

namespace RpcOverShm;

/// <summary>Payloads that are lent to the peer instead of copied: a group of options.</summary>
/// <remarks>Read with the options that it is in. Not thread-safe. Nothing to dispose.</remarks>
public sealed class ShmLoanOptions
{
    // Of the memory that is available to the process.
    private const int ShareOfMemory = 4;

    /// <summary>
    /// Gets or sets whether the peer may read rented payloads where this process has written them, and this process
    /// those of the peer.
    /// </summary>
    /// <remarks>
    /// <para>
    /// Defaults to false. Both sides must set it; otherwise payloads are copied, and code needs no change. Set it only
    /// for peers that are trusted as much as this process: the sender of a payload can change the bytes while they are
    /// read.
    /// </para>
    /// <para>
    /// Payloads of less than 64 KiB are always copied, and so are those of calls with compression, message inspectors
    /// or a retry policy, those that were rented on another connection, and those that were received and are sent on.
    /// On Windows, and before Linux 5.1, all are copied.
    /// </para>
    /// </remarks>
    public bool AllowLoanedPayloads { get; set; }

    /// <summary>
    /// Gets or sets the memory, in bytes, that this side makes for the payloads of one connection, and as much again
    /// that it maps of the peer's; 1 MiB or more.
    /// </summary>
    /// <remarks>
    /// Defaults to 256 MiB. The memory comes in files of 1 MiB, 2 MiB and so on, when a payload needs one, and stays
    /// until the connection ends and the last payload is disposed. When what is rented, or not returned by the peer,
    /// uses it up, renting fails with <see cref="Grpc.Core.StatusCode.ResourceExhausted"/>: payloads were not disposed,
    /// here or by the peer. A payload that is larger than this is private memory, and copied; so is one in memory that
    /// the peer does not map.
    /// </remarks>
    public long MaxConnectionSize { get; set; } = ShmDefaults.MaxLoanConnectionSize;

    /// <summary>
    /// Gets or sets the memory, in bytes, that all connections of the process may have made for payloads when one of
    /// this channel or server needs more, and as much again that they may map of their peers'; 1 MiB or more.
    /// <para>Null means a quarter of the memory that is available to the process.</para>
    /// </summary>
    /// <remarks>Defaults to null. Beyond it, payloads are private memory, and are copied.</remarks>
    public long? MaxSize { get; set; }

    /// <summary>Returns the checked limits; null without loans.</summary>
    /// <exception cref="ArgumentException">A limit is not allowed.</exception>
    internal LoanLimits? ToLoanLimits(ILogger logger)
    {
        const long Least = 1 << 20;
        const string Path = nameof(ShmServerOptions.Loans) + ".";
        OptionRanges.AtLeast(Least, MaxConnectionSize, Path + nameof(MaxConnectionSize));
        OptionRanges.AtLeast(Least, MaxSize, Path + nameof(MaxSize), "a quarter of the memory");
        if (!AllowLoanedPayloads || !HostSystem.IsSupported)
        {
            return null;
        }

        if (!HostSystem.Current.PassesHandlesLater)
        {
            ShmLog.LoansNotSupported(logger);
            return null;
        }

        return new LoanLimits(
            MaxConnectionSize, MaxSize ?? (GC.GetGCMemoryInfo().TotalAvailableMemoryBytes / ShareOfMemory));
    }
}
