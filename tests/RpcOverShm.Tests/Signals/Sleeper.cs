using System.Runtime.InteropServices;

namespace RpcOverShm.Tests.Signals;

/// <summary>
/// A thread that is about to sleep in the kernel, and a way to wait until it does. The runtime does not report a thread
/// in a system call as sleeping, but the kernel does.
/// </summary>
internal sealed partial class Sleeper
{
    private readonly TestThread _thread;
    private volatile int _threadId;

    public Sleeper(Func<bool> wait)
    {
        _thread = TestThread.Start("sleeper", () =>
        {
            _threadId = GetThreadId();
            WasWoken = wait();
        });
    }

    /// <summary>The result of the wait, after <see cref="Join"/>.</summary>
    public bool WasWoken { get; private set; }

    public bool IsAlive => _thread.IsAlive;

    /// <summary>Waits until the thread sleeps in the kernel or has ended.</summary>
    public Sleeper WaitUntilAsleep()
    {
        while (_thread.IsAlive && !IsAsleepInTheKernel())
        {
            Thread.Yield();
        }

        return this;
    }

    public Sleeper Join()
    {
        _thread.Join();
        return this;
    }

    [LibraryImport("libc", EntryPoint = "gettid")]
    private static partial int GetThreadId();

    private bool IsAsleepInTheKernel()
    {
        int id = _threadId;
        if (id == 0)
        {
            return false;
        }

        try
        {
            // The state follows the name, which is in parentheses (proc_pid_stat(5)).
            string stat = File.ReadAllText($"/proc/self/task/{id}/stat");
            return stat[stat.LastIndexOf(')') + 2] == 'S';
        }
        catch (IOException)
        {
            return false;
        }
    }
}
