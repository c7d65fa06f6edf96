using System.Collections.Concurrent;
using System.Diagnostics;
using Grpc.Core;
using RpcOverShm.Testing;
using RpcOverShm.Testing.Soak;

namespace RpcOverShm.TestPeer.Soak;

/// <summary>
/// The server of a soak, with calls, the callbacks that their methods make, and byte streams.
/// </summary>
internal sealed class SoakServer : IAsyncDisposable
{
    private static readonly TimeSpan s_addressPause = TimeSpan.FromMilliseconds(5);

    // Another server leaves the address meanwhile.
    private readonly TimeSpan _addressWait;

    // Beyond the grace, and the longest stop of a client.
    private readonly TimeSpan _stopBound;
    private readonly TimeSpan _connectTimeout;

    private readonly ulong _seed;
    private readonly Ledger _ledger;
    private readonly SoakJournal _journal;
    private readonly ShmSchedulingMode? _scheduling;
    private readonly SoakCaller _caller;
    private readonly SoakService _service;
    private readonly ConcurrentDictionary<Task, bool> _streams = new();
    private ShmServer? _server;
    private ShmStreamListener? _listener;
    private Task _accepting = Task.CompletedTask;
    private volatile bool _isStopping;

    /// <summary>Creates the server.</summary>
    /// <param name="seed">The seed of the run.</param>
    /// <param name="ledger">Gets begin and end of each method, and of each callback.</param>
    /// <param name="journal">Gets the violations and the library's log.</param>
    /// <param name="patience">The factor of time limits.</param>
    /// <param name="scheduling">The scheduling mode; null for a random one.</param>
    public SoakServer(ulong seed, Ledger ledger, SoakJournal journal, int patience, ShmSchedulingMode? scheduling)
    {
        _seed = seed;
        _ledger = ledger;
        _journal = journal;
        _scheduling = scheduling;
        _caller = new SoakCaller(ledger, journal);
        _service = new SoakService(seed, ledger, journal, CallBackAsync);
        _addressWait = TimeSpan.FromSeconds(30) * patience;
        _stopBound = TimeSpan.FromSeconds(12) * patience;
        _connectTimeout = new ShmStreamOptions().Connect.Timeout * patience;
    }

    public long WithoutPool => _service.WithoutPool;

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
            var options = new ShmStreamListenerOptions
            {
                Listen = { RuntimeDirectory = directory, HandshakeTimeout = _connectTimeout },
                LoggerFactory = _journal,
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
        _isStopping = true;
        await _listener!.DisposeAsync().AsTask().Within(_stopBound, "the listener of byte streams is disposed");
        await _server!.StopAsync(grace).Within(_stopBound, "the server stops");
        await _accepting.Within(_stopBound, "no more streams are accepted");
        await Task.WhenAll(_streams.Keys).Within(_stopBound, "every stream ends");
        await _service.WhenIdleAsync(_stopBound);
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
            Listen = { RuntimeDirectory = directory, HandshakeTimeout = _connectTimeout },
            LoggerFactory = _journal,
            EnableDetailedErrors = true,
            Scheduling = _scheduling ?? SoakChannel.PickScheduling(random),
            Ring = { Capacity = SoakChannel.PickRing(random) },
        };
        options.Codecs.Add(ShmRawCodec.Instance);
        var server = new ShmServer(address, options);
        server.Services.Add(_service.Build());
        return server;
    }

    private Task<StatusCode> CallBackAsync(SoakPlan plan, ServerCallContext context)
    {
        var callback = new SoakPlan(_seed, SoakCallId.Unpack(plan.CallId).Callback.Packed);
        return _caller.CallBackAsync(callback, context.GetShmSession().CreateCallInvoker(), () => _isStopping);
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

            Task serving = SoakStreams.ServeAsync(stream, _seed, _ledger, _journal);
            _streams[serving] = true;
            _ = serving.ContinueWith(
                done => _streams.TryRemove(done, out _), TaskScheduler.Default);
        }
    }
}
