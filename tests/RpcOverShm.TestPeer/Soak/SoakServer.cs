using System.Collections.Concurrent;
using System.Diagnostics;
using Grpc.Core;
using RpcOverShm.Testing;
using RpcOverShm.Testing.Soak;

namespace RpcOverShm.TestPeer.Soak;

/// <summary>
/// The server of a soak. Its methods follow the plan of their call, check every request, and write the begin and the
/// end of every method to the ledger.
/// </summary>
internal sealed class SoakServer(ulong seed, Ledger ledger, SoakJournal journal, int patience)
    : IAsyncDisposable
{
    private static readonly TimeSpan s_addressPause = TimeSpan.FromMilliseconds(5);

    // Another server leaves the address meanwhile.
    private readonly TimeSpan _addressWait = TimeSpan.FromSeconds(30) * patience;

    // Beyond the grace, and the longest stop of a client.
    private readonly TimeSpan _stopBound = TimeSpan.FromSeconds(12) * patience;
    private readonly TimeSpan _connectTimeout = new ShmStreamOptions().ConnectTimeout * patience;

    private readonly ConcurrentDictionary<Task, bool> _streams = new();
    private ShmServer? _server;
    private ShmStreamListener? _listener;
    private Task _accepting = Task.CompletedTask;
    private int _running;

    /// <summary>Starts to serve as soon as the address is free.</summary>
    public async Task StartAsync(string address, string directory, Random random)
    {
        await RetryWhileInUseAsync(async () =>
        {
            ShmServer server = Build(address, directory, random);
            await server.StartAsync();
            _server = server;
        });
        await RetryWhileInUseAsync(() =>
        {
            var options = new ShmStreamOptions
            {
                RuntimeDirectory = directory,
                LoggerFactory = journal,
                ConnectTimeout = _connectTimeout,
            };
            var listener = new ShmStreamListener(SoakStreams.AddressFor(address), options);
            listener.Start();
            _listener = listener;
            return Task.CompletedTask;
        });
        _accepting = Task.Run(() => AcceptAsync(_listener!));
    }

    /// <summary>Stops the server in an orderly way; returns when its methods and streams have ended.</summary>
    public async Task StopAsync(TimeSpan grace)
    {
        await _listener!.DisposeAsync().AsTask().Within(_stopBound, "the listener of byte streams is disposed");
        await _server!.StopAsync(grace).Within(_stopBound, "the server stops");
        await _accepting.Within(_stopBound, "no more streams are accepted");
        await Task.WhenAll(_streams.Keys).Within(_stopBound, "every stream ends");

        // A method may return after its call was cut off.
        await Timeouts.Eventually(() => Volatile.Read(ref _running) == 0, _stopBound, "every method returns");
    }

    public async ValueTask DisposeAsync()
    {
        if (_listener is not null)
        {
            await _listener.DisposeAsync();
        }

        if (_server is not null)
        {
            await _server.DisposeAsync();
        }
    }

    private async Task RetryWhileInUseAsync(Func<Task> start)
    {
        long begin = Stopwatch.GetTimestamp();
        while (true)
        {
            try
            {
                await start();
                return;
            }
            catch (ShmTransportException exception)
                when (exception.Error == ShmTransportError.AddressInUse
                    && Stopwatch.GetElapsedTime(begin) < _addressWait)
            {
                await Task.Delay(s_addressPause);
            }
        }
    }

    private ShmServer Build(string address, string directory, Random random)
    {
        var options = new ShmServerOptions
        {
            RuntimeDirectory = directory,
            LoggerFactory = journal,
            EnableDetailedErrors = true,
            HandshakeTimeout = _connectTimeout,
            Scheduling = SoakChannel.PickScheduling(random),
            AllowInPlaceParsing = random.Next(2) == 0,
            RingCapacity = SoakChannel.PickRing(random),
        };
        options.Codecs.Add(ShmRawCodec.Instance);
        var server = new ShmServer(address, options);
        server.Services.Add(ServerServiceDefinition.CreateBuilder()
            .AddMethod(SoakMethods.Unary, UnaryAsync)
            .AddMethod(SoakMethods.ServerStream, ServerStreamAsync)
            .AddMethod(SoakMethods.ClientStream, ClientStreamAsync)
            .AddMethod(SoakMethods.Duplex, DuplexAsync)
            .Build());
        return server;
    }

    private async Task<byte[]> UnaryAsync(byte[] request, ServerCallContext context)
    {
        byte[] response = [];
        await RunAsync(SoakShape.Unary, context, plan =>
        {
            SoakMessage.Check(request, plan, SoakSide.Client, 0);
            response = SoakMessage.Create(plan, SoakSide.Server, 0);
            return Task.CompletedTask;
        });
        return response;
    }

    private Task ServerStreamAsync(byte[] request, IServerStreamWriter<byte[]> responses, ServerCallContext context) =>
        RunAsync(SoakShape.ServerStream, context, async plan =>
        {
            SoakMessage.Check(request, plan, SoakSide.Client, 0);
            for (int i = 0; i < plan.Messages; i++)
            {
                await responses.WriteAsync(SoakMessage.Create(plan, SoakSide.Server, i));
            }
        });

    private async Task<byte[]> ClientStreamAsync(IAsyncStreamReader<byte[]> requests, ServerCallContext context)
    {
        byte[] response = [];
        await RunAsync(SoakShape.ClientStream, context, async plan =>
        {
            await ReadAllAsync(plan, requests, static _ => Task.CompletedTask);
            response = SoakMessage.Create(plan, SoakSide.Server, 0);
        });
        return response;
    }

    private Task DuplexAsync(
        IAsyncStreamReader<byte[]> requests, IServerStreamWriter<byte[]> responses, ServerCallContext context) =>
        RunAsync(SoakShape.Duplex, context, plan => ReadAllAsync(
            plan, requests, i => responses.WriteAsync(SoakMessage.Create(plan, SoakSide.Server, i))));

    private static async Task ReadAllAsync(SoakPlan plan, IAsyncStreamReader<byte[]> requests, Func<int, Task> onRead)
    {
        int count = 0;
        while (await requests.MoveNext(CancellationToken.None))
        {
            SoakMessage.Check(requests.Current, plan, SoakSide.Client, count);
            await onRead(count);
            count++;
        }

        if (count != plan.Messages)
        {
            throw new SoakViolationException($"The requests ended in order after {count} of {plan}.");
        }
    }

    private async Task RunAsync(SoakShape shape, ServerCallContext context, Func<SoakPlan, Task> method)
    {
        ulong id = SoakMethods.CallIdOf(context);
        Interlocked.Increment(ref _running);
        ledger.Append(LedgerEvent.Began, id, shape);
        StatusCode status = StatusCode.Unknown;
        try
        {
            var plan = new SoakPlan(seed, id);
            SoakMethods.AddTrailer(context, id);
            await method(plan);
            await ActAsync(plan, context);
            status = StatusCode.OK;
        }
        catch (SoakViolationException exception)
        {
            journal.Violation(exception.Message);
            throw;
        }
        finally
        {
            ledger.Append(LedgerEvent.Returned, id, shape, status);
            Interlocked.Decrement(ref _running);
        }
    }

    private static async Task ActAsync(SoakPlan plan, ServerCallContext context)
    {
        if (plan.IsHeld)
        {
            await Task.Delay(Timeout.Infinite, context.CancellationToken);
        }

        switch (plan.Act)
        {
            case SoakAct.Yield:
                await Task.Yield();
                break;
            case SoakAct.Delay:
                await Task.Delay(plan.ActMilliseconds);
                break;
            case SoakAct.Block:
                Thread.Sleep(plan.ActMilliseconds);
                break;
            case SoakAct.Refuse:
                throw new RpcException(new Status(StatusCode.Aborted, "as planned"));
        }
    }

    private async Task AcceptAsync(ShmStreamListener listener)
    {
        while (true)
        {
            ShmStream stream;
            try
            {
                stream = await listener.AcceptAsync();
            }
            catch (ObjectDisposedException)
            {
                return;
            }

            Task serving = SoakStreams.ServeAsync(stream, seed, ledger, journal);
            _streams[serving] = true;
            _ = serving.ContinueWith(
                done => _streams.TryRemove(done, out _), TaskScheduler.Default);
        }
    }
}
