namespace RpcOverShm.Windows;

/// <summary>The processor time of threads, which the system counts in steps of some milliseconds.</summary>
internal static unsafe class WindowsThreads
{
    private const long NanosecondsPerUnit = 100;

    /// <summary>The time of the calling thread in nanoseconds.</summary>
    public static long OwnTime => TimeOf(WindowsNative.CurrentThread);

    /// <summary>The time of a thread in nanoseconds; 0 if it has ended.</summary>
    public static long TimeOf(int threadId)
    {
        using var thread = new KernelHandle(
            WindowsNative.OpenThread(WindowsNative.ThreadQueryLimited, inherit: 0, threadId));
        return thread.IsInvalid ? 0 : TimeOf(thread.DangerousGetHandle());
    }

    private static long TimeOf(nint thread)
    {
        long unused;
        long kernel;
        long user;
        return WindowsNative.GetThreadTimes(thread, &unused, &unused, &kernel, &user) != 0
            ? (kernel + user) * NanosecondsPerUnit
            : 0;
    }
}
