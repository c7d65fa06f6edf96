using RpcOverShm.Systems;

namespace RpcOverShm.Tests.Systems;

/// <summary>
/// A thread that is about to sleep in the kernel, and a way to wait until it does. The runtime does not report a thread
/// in a system call as sleeping. Linux does; Windows does not tell, so there the wait ends before the sleep begins.
/// </summary>
internal sealed class Sleeper
{
    private readonly TestThread _thread;
    private volatile int _threadId;

    public Sleeper(Func<bool> wait)
    {
        _thread = TestThread.Start("sleeper", () =>
        {
            _threadId = HostSystem.Current.CurrentThreadId;
            WasWoken = wait();
        });
    }

    /// <summary>The result of the wait, after <see cref="Join"/>.</summary>
    public bool WasWoken { get; private set; }

    public bool IsAlive => _thread.IsAlive;

    /// <summary>Waits until the thread sleeps in the kernel or has ended.</summary>
    public Sleeper WaitUntilAsleep()
    {
        while (_thread.IsAlive && (_threadId == 0 || !HostSystem.Current.IsThreadBlocked(_threadId)))
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
}
