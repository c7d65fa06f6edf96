namespace RpcOverShm.Perf.Peer.Recording;

/// <summary>The work of a method that takes some time before it answers.</summary>
internal static class ServedWork
{
    /// <summary>The time for which <see cref="Block"/> blocks.</summary>
    public static TimeSpan Blocked { get; } = TimeSpan.FromMilliseconds(5);

    /// <summary>
    /// Uses as much processor time of this thread as the request asks for, however often the thread is interrupted
    /// meanwhile.
    /// </summary>
    public static void Do(ReadOnlySpan<byte> request)
    {
        int microseconds = EchoNumber.WorkMicroseconds(request);
        if (microseconds == 0)
        {
            return;
        }

        long end = Now() + (microseconds * 1000L);
        while (Now() < end)
        {
            // Reading the clock is the work.
        }
    }

    /// <summary>Blocks this thread, as a method does that waits for a disk or for another process.</summary>
    public static void Block() => Thread.Sleep(Blocked);

    // On other systems the time that others take counts too.
    private static long Now() => OperatingSystem.IsLinux()
        ? ProcessNative.GetThreadNanoseconds()
        : (long)Stopwatch.GetElapsedTime(0).TotalNanoseconds;
}
