using System.Collections.Concurrent;

namespace RpcOverShm.Perf.Peers;

/// <summary>
/// Starts processes from one thread that lives as long as this process. They ask the kernel to be killed when their
/// parent ends, which to the kernel is the thread that started them; a thread of the pool may end at any time.
/// </summary>
internal static class PeerLauncher
{
    private static readonly BlockingCollection<Action> s_work = StartThread();

    public static Task<Process> StartAsync(ProcessStartInfo info)
    {
        var started = new TaskCompletionSource<Process>(TaskCreationOptions.RunContinuationsAsynchronously);
        s_work.Add(() =>
        {
            try
            {
                started.SetResult(Process.Start(info)!);
            }
            catch (Exception exception)
            {
                started.SetException(exception);
            }
        });
        return started.Task;
    }

    private static BlockingCollection<Action> StartThread()
    {
        var work = new BlockingCollection<Action>();
        new Thread(() =>
        {
            foreach (Action start in work.GetConsumingEnumerable())
            {
                start();
            }
        })
        { IsBackground = true, Name = "peer launcher" }.Start();
        return work;
    }
}
