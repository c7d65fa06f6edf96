using System.Diagnostics;
using System.Globalization;
using System.Net.Sockets;
using RpcOverShm.Testing.Soak;
using RpcOverShm.Testing;

namespace RpcOverShm.TestPeer.Soak;

/// <summary>The commands of a process of a soak, which is either a server or a client.</summary>
internal sealed class SoakCommands : IAsyncDisposable
{
    private Ledger? _ledger;
    private SoakJournal? _journal;
    private SoakServer? _server;
    private SoakClient? _client;

    public async Task<string> RunAsync(string[] words)
    {
        try
        {
            return await RunOneAsync(words);
        }
        catch (Exception exception)
        {
            // The reply has one line only.
            await Console.Error.WriteLineAsync(exception.ToString());
            throw;
        }
    }

    public async ValueTask DisposeAsync()
    {
        if (_client is not null)
        {
            await _client.DisposeAsync();
        }

        if (_server is not null)
        {
            await _server.DisposeAsync();
        }
    }

    private async Task<string> RunOneAsync(string[] words)
    {
        switch (words[0])
        {
            case "serve":
                OpenFiles(words[4]);
                _server = new SoakServer(Seed(words[3]), _ledger!, _journal!, Number(words[6]), Mode(words));
                await _server.StartAsync(words[1], words[2], new Random((int)Seed(words[3]) + Number(words[5])));
                return "";
            case "stop":
                await _server!.StopAsync(Milliseconds(words[1]));
                return "";
            case "client":
                OpenFiles(words[4]);
                _client = new SoakClient(
                    words[1],
                    words[2],
                    Seed(words[3]),
                    Number(words[5]),
                    _ledger!,
                    _journal!,
                    Number(words[6]),
                    Mode(words));
                return "";
            case "start":
                await _client!.StartAsync(
                    Number(words[1]), Number(words[2]), words.Contains("storm"), words.Contains("on-pool"));
                return "";
            case "drain":
                await _client!.DrainAsync();
                return "";
            case "reopen":
                await _client!.ReopenAsync();
                return "";
            case "close":
                await _client!.CloseAsync();
                return "";
            case "spin":
                Spin(Number(words[1]), Milliseconds(words[2]));
                return "";
            case "pool":
                await Task.Run(() => { });
                return "";
            case "bound-pool":
                BoundPool(Number(words[1]));
                return "";
            case "without-pool":
                return (_server?.WithoutPool ?? _client!.WithoutPool).ToString(CultureInfo.InvariantCulture);
            case "heap":
                return Heap();
            default:
                throw new ArgumentException($"There is no soak command '{words[0]}'.");
        }
    }

    private static int Number(string word) => int.Parse(word, CultureInfo.InvariantCulture);

    // The mode follows the words that every soak has.
    private static ShmSchedulingMode? Mode(string[] words) =>
        words.Length > 7 ? Enum.Parse<ShmSchedulingMode>(words[7]) : null;

    private static TimeSpan Milliseconds(string word) => TimeSpan.FromMilliseconds(Number(word));

    private static ulong Seed(string word) => ulong.Parse(word, CultureInfo.InvariantCulture);

    private void OpenFiles(string path)
    {
        _journal = new SoakJournal(path + ".journal");
        _ledger = new Ledger(path + ".ledger");

        // The runtime prepares for sockets at the first one. If it then lacks a descriptor, it never has a socket.
        using Socket first = UnixSockets.New();
    }

    /// <summary>Gives the thread pool this number of threads, at once and for good.</summary>
    private static void BoundPool(int threads)
    {
        ThreadPool.GetMinThreads(out _, out int ports);
        if (!ThreadPool.SetMinThreads(threads, ports) || !ThreadPool.SetMaxThreads(threads, ports))
        {
            throw new InvalidOperationException($"The thread pool takes no bound of {threads} threads.");
        }
    }

    /// <summary>Keeps the processors busy for a time, without waiting for the end of it.</summary>
    private static void Spin(int threads, TimeSpan time)
    {
        for (int i = 0; i < threads; i++)
        {
            var thread = new Thread(() =>
            {
                long begin = Stopwatch.GetTimestamp();
                while (Stopwatch.GetElapsedTime(begin) < time)
                {
                    Thread.SpinWait(100);
                }
            })
            {
                IsBackground = true,
                Name = "Soak spinner",
            };
            thread.Start();
        }
    }

    /// <summary>Returns the size of the managed heap after everything unreachable was collected.</summary>
    private static string Heap()
    {
        for (int i = 0; i < 3; i++)
        {
            GC.Collect(GC.MaxGeneration, GCCollectionMode.Aggressive, blocking: true, compacting: true);
            GC.WaitForPendingFinalizers();
        }

        return GC.GetTotalMemory(forceFullCollection: false).ToString(CultureInfo.InvariantCulture);
    }
}
