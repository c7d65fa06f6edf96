using System.Globalization;
using Grpc.Core;
using RpcOverShm.Testing;

namespace RpcOverShm.TestPeer;

/// <summary>The commands of a client: calls a <see cref="Script"/> and checks every answer.</summary>
internal sealed class CallCommands : IAsyncDisposable
{
    private const string Hold = "hold";

    private readonly List<ShmChannel> _crowd = [];
    private ShmChannel? _channel;
    private int _blocked; // callbacks
    private ScriptClient? _client;

    private ScriptClient Client => _client ?? throw new InvalidOperationException("There is no channel yet.");

    public Task<string> OpenAsync(
        string address, string? directory, string[] trusted, Action<ShmChannelOptions>? change = null)
    {
        var options = new ShmChannelOptions
        {
            Connect = { RuntimeDirectory = directory },
            MaxReceiveMessageSize = null,
        };
        Array.ForEach(trusted, options.Connect.TrustedServerUsers.Add);
        change?.Invoke(options);
        _channel = ShmChannel.ForAddress(address, options);
        _client = new ScriptClient(_channel.CreateCallInvoker());
        return Task.FromResult("");
    }

    /// <summary>Opens a channel with callbacks that block for ever, with the default limits.</summary>
    public Task<string> OpenForBlockingCallbacksAsync(string address, string? directory, ShmSchedulingMode scheduling)
    {
        var script = new Script
        {
            Unary = (request, _) =>
            {
                Interlocked.Increment(ref _blocked);
                Thread.Sleep(Timeout.Infinite);
                return Task.FromResult(request);
            },
        };
        return OpenAsync(address, directory, [], options =>
        {
            options.Scheduling = scheduling;
            options.Callbacks.Services.Add(script.Build());
        });
    }

    /// <summary>
    /// Awaits a call whose method makes many callbacks, and the end of the channel. The reply is the number of those
    /// that have begun.
    /// </summary>
    public async Task<string> FloodAsync(string callbacks)
    {
        await Client.UnaryAsync(Payloads.Of(callbacks));
        await CloseAsync();
        return Volatile.Read(ref _blocked).ToString(CultureInfo.InvariantCulture);
    }

    /// <summary>
    /// Opens channels, each with its connection, until a call on one fails. The reply is the number of those before,
    /// and the failure.
    /// </summary>
    public async Task<string> OpenManyAsync(string address, string? directory, string[] trusted, int most)
    {
        string answer = "right";
        while (_crowd.Count < most && answer == "right")
        {
            await OpenAsync(address, directory, trusted);
            _crowd.Add(_channel!);
            answer = await EchoAsync(1);
        }

        return $"{_crowd.Count - (answer == "right" ? 0 : 1)} {answer}";
    }

    public async Task<string> CloseAsync()
    {
        await _channel!.ShutdownAsync();
        return "";
    }

    /// <summary>Makes a blocking echo call. If it fails, the reply is the status code.</summary>
    public Task<string> EchoAsync(int bytes)
    {
        try
        {
            return Task.FromResult(Client.Unary(Payloads.OfSize(bytes)).IsOfSize(bytes) ? "right" : "wrong");
        }
        catch (RpcException exception)
        {
            return Task.FromResult($"{exception.StatusCode} {exception.Status.Detail}".ReplaceLineEndings(" "));
        }
    }

    /// <summary>Makes one-way calls, blocking and awaited in turn; the reply comes when the last was sent.</summary>
    public async Task<string> OneWayAsync(int calls, int bytes)
    {
        var client = new ScriptClient(_channel!.CreateOneWayInvoker());
        for (int i = 0; i < calls; i++)
        {
            if (i % 2 == 0)
            {
                client.Unary(Payloads.OfSize(bytes));
            }
            else
            {
                await client.UnaryAsync(Payloads.OfSize(bytes));
            }
        }

        return "";
    }

    /// <summary>
    /// Occupies every thread of the pool, and makes a blocking call with a deadline that is not answered. The reply is
    /// its status, and whether it came before the pool had a free thread.
    /// </summary>
    public async Task<string> DeadlineWithoutPoolAsync(int milliseconds)
    {
        Client.Unary(Payloads.Empty);
        ThreadPool.GetMinThreads(out int threads, out int ports);
        ThreadPool.SetMaxThreads(threads, ports);
        using var mayEnd = new ManualResetEventSlim();
        using var occupied = new CountdownEvent(threads);
        string status = "";
        Task calling = Timeouts.OnThread(() =>
        {
            for (int i = 0; i < threads; i++)
            {
                ThreadPool.UnsafeQueueUserWorkItem(_ =>
                {
                    occupied.Signal();
                    mayEnd.Wait();
                },
                null);
            }

            occupied.Wait();
            try
            {
                var deadline = new CallOptions(deadline: DateTime.UtcNow.AddMilliseconds(milliseconds));
                Client.Unary(Payloads.Of(Hold), deadline);
            }
            catch (RpcException exception)
            {
                status = $"{exception.StatusCode}";
            }

            mayEnd.Set();
        });
        await calling;
        return status;
    }

    /// <summary>
    /// Makes blocking calls from every thread of the pool, which gets no further one. The reply is the number of wrong
    /// answers, after all calls have ended.
    /// </summary>
    public async Task<string> CallbacksWithoutPoolAsync(int calls)
    {
        Client.Unary(Payloads.Empty);
        ThreadPool.GetMinThreads(out int threads, out int ports);
        ThreadPool.SetMaxThreads(threads, ports);
        int wrong = 0;
        await Timeouts.OnThread(() =>
        {
            using var occupied = new CountdownEvent(threads);
            using var left = new CountdownEvent(threads);
            for (int i = 0; i < threads; i++)
            {
                ThreadPool.UnsafeQueueUserWorkItem(_ =>
                {
                    // No thread begins before all are taken.
                    occupied.Signal();
                    occupied.Wait();
                    Interlocked.Add(ref wrong, CountWrong(calls));
                    left.Signal();
                },
                null);
            }

            left.Wait();
        });
        return wrong.ToString(CultureInfo.InvariantCulture);
    }

    public async Task<string> EveryShapeAsync() => await Shapes.RunAllAsync(Client);

    /// <summary>Makes blocking echo calls from several threads; the reply is the number of wrong answers.</summary>
    public async Task<string> HammerAsync(int threads, int calls)
    {
        int[] wrong = await Task.WhenAll(Enumerable.Range(0, threads).Select(
            thread => Timeouts.OnThread(() => CountWrong(calls, (ulong)(thread * calls)))));
        return wrong.Sum().ToString(CultureInfo.InvariantCulture);
    }

    /// <summary>Starts a call that lasts until one side ends it, and emits its status as an event.</summary>
    public Task<string> HoldAsync(string shape)
    {
        Task call = shape switch
        {
            "blocking" => Timeouts.OnThread(() => Client.Unary(Payloads.Of(Hold))),
            "async" => Client.UnaryAsync(Payloads.Of(Hold)).ResponseAsync,
            "server-stream" => Client.ServerStream(Payloads.Of(Hold)).ResponseStream.ToListAsync(),
            "client-stream" => Client.ClientStream().ResponseAsync,
            "duplex" => Client.Duplex().ResponseStream.ToListAsync(),
            _ => throw new ArgumentException($"There is no shape '{shape}'."),
        };
        _ = TellEndAsync(call);
        return Task.FromResult("");
    }

    /// <summary>Makes calls of all shapes concurrently until this process is killed.</summary>
    public Task<string> MixAsync(int callers, int seed)
    {
        for (int i = 0; i < callers; i++)
        {
            var random = new Random(seed + i);
            _ = Task.Run(async () =>
            {
                while (true)
                {
                    await Shapes.RunRandomAsync(Client, random);
                }
            });
        }

        return Task.FromResult("");
    }

    /// <summary>Opens a channel, calls and closes it, over and over until this process is killed.</summary>
    public static Task<string> ReconnectAsync(string address, string? directory)
    {
        _ = Task.Run(async () =>
        {
            while (true)
            {
                await using var channel = ShmChannel.ForAddress(
                    address, new ShmChannelOptions { Connect = { RuntimeDirectory = directory } });
                await new ScriptClient(channel.CreateCallInvoker()).UnaryAsync(Payloads.Empty);
            }
        });
        return Task.FromResult("");
    }

    public async ValueTask DisposeAsync()
    {
        foreach (ShmChannel one in _crowd)
        {
            await one.DisposeAsync();
        }

        if (_channel is not null)
        {
            await _channel.DisposeAsync();
        }
    }

    private int CountWrong(int calls, ulong firstSeed = 0)
    {
        int wrong = 0;
        for (int i = 0; i < calls; i++)
        {
            int bytes = (i * 37) % 3000;
            ulong seed = firstSeed + (ulong)i;
            wrong += Client.Unary(Payloads.OfSize(bytes, seed)).IsOfSize(bytes, seed) ? 0 : 1;
        }

        return wrong;
    }

    private static async Task TellEndAsync(Task call)
    {
        try
        {
            await call;
            PeerCommands.Emit("ended OK");
        }
        catch (RpcException exception)
        {
            PeerCommands.Emit($"ended {exception.StatusCode} {exception.Status.Detail}");
        }
        catch (Exception exception)
        {
            PeerCommands.Emit($"ended {exception}");
        }
    }
}
