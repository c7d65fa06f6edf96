using System.Globalization;
using Grpc.Core;
using RpcOverShm.Testing;

namespace RpcOverShm.TestPeer;

/// <summary>The commands of a client whose thread pool is in need. Each has a channel of its own.</summary>
internal static class ThreadCommands
{
    // Lives as long as the process, so that the server learns how the callbacks have ended.
    private static ShmChannel? s_channelOfCallbacks;

    /// <summary>
    /// Makes a blocking call with a deadline, in which the server makes callbacks. The callbacks take all threads of
    /// the pool, and the caller's thread until the deadline. The reply is the status of the call, the number of
    /// callbacks that had begun by then, and whether the pool has had a free thread.
    /// </summary>
    public static async Task<string> DeadlineInCallbacksAsync(string address, string? directory, int milliseconds)
    {
        var mayEnd = new ManualResetEventSlim();
        DateTime deadline = DateTime.MaxValue;
        int caller = 0;
        int begun = 0;
        var callbacks = new Script
        {
            Unary = (request, _) =>
            {
                Interlocked.Increment(ref begun);
                if (Environment.CurrentManagedThreadId == caller)
                {
                    // Not before the deadline, or this thread would run the next ones.
                    double left = (deadline - DateTime.UtcNow).TotalMilliseconds;
                    mayEnd.Wait(Math.Max(0, (int)Math.Ceiling(left) + 20));
                }
                else
                {
                    mayEnd.Wait();
                }

                return Task.FromResult(request);
            },
        };
        var options = new ShmChannelOptions { Connect = { RuntimeDirectory = directory } };
        options.Callbacks.Services.Add(callbacks.Build());
        s_channelOfCallbacks = ShmChannel.ForAddress(address, options);
        var client = new ScriptClient(s_channelOfCallbacks.CreateCallInvoker());
        await s_channelOfCallbacks.ConnectAsync();

        return await Timeouts.OnThread(() =>
        {
            string status = "OK";
            bool wasPoolFree = false;
            caller = Environment.CurrentManagedThreadId;
            deadline = DateTime.UtcNow.AddMilliseconds(milliseconds);
            try
            {
                client.Unary(Payloads.Empty, new CallOptions(deadline: deadline));
            }
            catch (RpcException exception)
            {
                status = $"{exception.StatusCode}";
                wasPoolFree = ThreadPool.PendingWorkItemCount == 0;
            }

            int count = Volatile.Read(ref begun);
            mayEnd.Set();
            return string.Create(CultureInfo.InvariantCulture, $"{status} {count} {wasPoolFree}");
        });
    }

    /// <summary>
    /// Makes blocking calls from as many tasks of the thread pool, which the server answers when it has all of them.
    /// The reply is the time in milliseconds until all were answered. .NET's pool may add a thread without delay for
    /// each that it knows to be blocked; for others it adds one in half a second.
    /// </summary>
    public static async Task<string> BlockPoolAsync(string address, string? directory, int tasks)
    {
        // Read once by the pool, when the first of its threads blocks.
        AppContext.SetData("System.Threading.ThreadPool.Blocking.ThreadsToAddWithoutDelay_ProcCountFactor", tasks);
        using var channel = ShmChannel.ForAddress(address, new ShmChannelOptions
        {
            Connect = { RuntimeDirectory = directory },
        });
        var client = new ScriptClient(channel.CreateCallInvoker());
        await channel.ConnectAsync();

        long begun = Environment.TickCount64;
        await Task.WhenAll(Enumerable.Range(0, tasks).Select(_ => Task.Run(() => client.Unary(Payloads.Empty))));
        return (Environment.TickCount64 - begun).ToString(CultureInfo.InvariantCulture);
    }
}
