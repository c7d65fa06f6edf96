namespace RpcOverShm.Soak;

/// <summary>
/// A control group of one process, which limits the number of its threads. Root is not bound by RLIMIT_NPROC, and
/// that limit counts all processes of a user. Not available on every machine.
/// </summary>
internal sealed class ThreadQuota : IDisposable
{
    private const string Root = "/sys/fs/cgroup/pids";
    private const string NoLimit = "max";

    private readonly string _group;

    private ThreadQuota(string group) => _group = group;

    /// <summary>Moves a process to a group of its own; null if the machine does not allow that.</summary>
    public static ThreadQuota? TryCreate(int processId)
    {
        string group = Path.Combine(Root, string.Create(CultureInfo.InvariantCulture, $"rpcovershm-soak-{processId}"));
        try
        {
            if (!File.Exists(Path.Combine(Root, "cgroup.procs")))
            {
                return null;
            }

            Directory.CreateDirectory(group);
            File.WriteAllText(
                Path.Combine(group, "cgroup.procs"), processId.ToString(CultureInfo.InvariantCulture));
            return new ThreadQuota(group);
        }
        catch (Exception exception) when (exception is IOException or UnauthorizedAccessException)
        {
            return null;
        }
    }

    /// <summary>Allows this number of threads more than there are.</summary>
    public void Limit(int more)
    {
        int now = int.Parse(File.ReadAllText(Path.Combine(_group, "pids.current")), CultureInfo.InvariantCulture);
        Write((now + more).ToString(CultureInfo.InvariantCulture));
    }

    public void Lift() => Write(NoLimit);

    /// <summary>Removes the group; its process must have ended.</summary>
    public void Dispose()
    {
        try
        {
            Directory.Delete(_group);
        }
        catch (IOException)
        {
            // The kernel has not removed the dead process yet. An empty group costs nothing.
        }
    }

    private void Write(string limit) => File.WriteAllText(Path.Combine(_group, "pids.max"), limit);
}
