namespace RpcOverShm.Perf.Peer.Control;

/// <summary>
/// Sees to it that this process does not outlive the one that started it: the end of standard input ends it in an
/// orderly way, and the kernel kills it when it can no longer read.
/// </summary>
internal static class ParentTie
{
    /// <summary>Ties this process to its parent.</summary>
    /// <param name="args">The parent's process id.</param>
    public static void Fasten(string[] args)
    {
        if (!OperatingSystem.IsLinux() || args is not [string parent])
        {
            return;
        }

        ProcessNative.DieWithParent();

        // The parent may have ended before the kernel was asked; then nobody would tell.
        if (ProcessNative.GetParentId() != int.Parse(parent, CultureInfo.InvariantCulture))
        {
            Environment.Exit(1);
        }
    }
}
