using Microsoft.Extensions.Logging;
using RpcOverShm.Diagnostics;
using RpcOverShm.Protocol;
using RpcOverShm.Systems;

namespace RpcOverShm;

/// <summary>Handles in calls, such as those of open files, pipes and sockets: a group of options.</summary>
/// <remarks>Read with the options that it is in. Not thread-safe. Nothing to dispose.</remarks>
public sealed class ShmHandleOptions
{
    private const int MostHeld = 65_536;

    /// <summary>Gets or sets whether calls may carry handles, in both directions.</summary>
    /// <remarks>
    /// Defaults to false. Both sides must set it; otherwise a call with handles fails with
    /// <see cref="Grpc.Core.StatusCode.FailedPrecondition"/>. A peer that may pass handles can make this process hold
    /// descriptors, and a read of what it passes may block as long as the peer likes. On Windows, and before Linux 5.1,
    /// no handles are passed.
    /// </remarks>
    public bool AllowHandles { get; set; }

    /// <summary>
    /// Gets or sets the handles of one connection that have come and that nobody has taken yet; 16 to 65,536.
    /// </summary>
    /// <remarks>
    /// Defaults to 256. Handles beyond it are closed, and their call fails with
    /// <see cref="Grpc.Core.StatusCode.ResourceExhausted"/>. Those of a call that waits for its turn count.
    /// </remarks>
    public int MaxHeld { get; set; } = ShmDefaults.MaxHeldHandles;

    /// <summary>Returns the checked limit; null without handles.</summary>
    /// <exception cref="ArgumentException">The limit is not allowed.</exception>
    internal int? ToMaxHeld(ILogger logger)
    {
        const string Path = nameof(ShmServerOptions.Handles) + ".";
        OptionRanges.Between(HandleNotice.MostHandles, MostHeld, MaxHeld, Path + nameof(MaxHeld));
        if (!AllowHandles || !HostSystem.IsSupported)
        {
            return null;
        }

        if (!HostSystem.Current.PassesHandlesLater)
        {
            ShmLog.HandlesNotSupported(logger);
            return null;
        }

        return MaxHeld;
    }
}
