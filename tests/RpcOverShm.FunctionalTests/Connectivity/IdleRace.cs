using RpcOverShm.Connections;

namespace RpcOverShm.FunctionalTests.Connectivity;

/// <summary>
/// In each round a call of the next kind starts at the moment of the look that finds the connection idle. Every call
/// must succeed; a stream of requests has no transparent retry that could hide a refusal.
/// </summary>
internal sealed class IdleRace
{
    private const int Kinds = 4;

    private readonly ShmChannel _channel;
    private readonly ScriptClient _client;
    private readonly TwoThreadRace _race;
    private int _round;
    private Connection? _used;

    /// <param name="channel">The channel, whose first call connects it.</param>
    /// <param name="look">Looks once for idle connections, on the side under test.</param>
    /// <param name="isQuiet">Whether that side has no call: the caller may see the end of a call before.</param>
    /// <param name="rounds">The number of calls.</param>
    public IdleRace(ShmChannel channel, Action look, Func<bool> isQuiet, int rounds)
    {
        _channel = channel;
        _client = new ScriptClient(channel.CreateCallInvoker());
        _race = new TwoThreadRace(rounds)
        {
            Prepare = () =>
            {
                _round++;
                Connect();
                Timeouts.Eventually(isQuiet).GetAwaiter().GetResult();

                // The first look finds the calls of the last round.
                for (int i = 0; i < IdleTimer.QuietChecks; i++)
                {
                    look();
                }
            },
            Left = () => IsLookFirst ? Call() : Look(look),
            Right = () => IsLookFirst ? Look(look) : Call(),
        };
    }

    /// <summary>The number of rounds in which the connection was left.</summary>
    public int Closed { get; private set; }

    // The right side begins first if the threads share a processor.
    private bool IsLookFirst => _round / Kinds % 2 == 0;

    public void Run() => _race.Run();

    public override string ToString() => $"{_round} rounds, {Closed} connections left.";

    private void Connect()
    {
        if (_used is not null && _channel.Connections.Current != _used)
        {
            Closed++;
        }

        _channel.ConnectAsync().Bounded().GetAwaiter().GetResult();
        _client.Unary(Payloads.Empty);
        _used = _channel.Connections.Current;
    }

    private static bool Look(Action look)
    {
        look();
        return true;
    }

    private bool Call()
    {
        Payload request = Payloads.OfSize(_round % 500);
        Payload answer = (_round % Kinds) switch
        {
            0 => _client.Unary(request),
            1 => _client.UnaryAsync(request).ResponseAsync.Bounded().GetAwaiter().GetResult(),
            2 => ClientStreamAsync(request).Bounded().GetAwaiter().GetResult(),
            _ => DuplexAsync(request).Bounded().GetAwaiter().GetResult(),
        };
        Assert.That(answer, Is.EqualTo(request));
        return true;
    }

    private async Task<Payload> ClientStreamAsync(Payload request)
    {
        using AsyncClientStreamingCall<Payload, Payload> call = _client.ClientStream();
        await call.RequestStream.WriteAsync(request);
        await call.RequestStream.CompleteAsync();
        return await call.ResponseAsync;
    }

    private async Task<Payload> DuplexAsync(Payload request)
    {
        using AsyncDuplexStreamingCall<Payload, Payload> call = _client.Duplex();
        await call.RequestStream.WriteAsync(request);
        await call.RequestStream.CompleteAsync();
        return (await call.ResponseStream.ToListAsync()).Single();
    }
}
