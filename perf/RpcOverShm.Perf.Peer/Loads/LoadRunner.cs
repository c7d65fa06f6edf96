namespace RpcOverShm.Perf.Peer.Loads;

/// <summary>
/// The client's side of the process: carries out slices of load, one at a time. Everything that a slice opens stays
/// open, asleep, for the next slice of its kind.
/// </summary>
/// <param name="makeClient">Makes a client's end with a connection of its own.</param>
internal sealed class LoadRunner(Func<IArmClient> makeClient)
{
    private const int CallBytes = 100;

    private readonly List<IArmClient> _clients = [makeClient()];
    private readonly Dictionary<(CallerKind, int Connections, int Callers), List<EchoCaller>> _echoes = [];
    private readonly Dictionary<CallerKind, IPump> _pumps = [];
    private readonly Dictionary<CallerKind, IDrain> _drains = [];
    private readonly List<IEcho> _backlog = [];
    private IBatch? _batch;
    private long _backlogSequence;

    public LoadResult Run(LoadOrder order) => order.Shape switch
    {
        LoadShape.Echo => EchoLoad.Run(order, EchoCallers(order)),
        LoadShape.Pump => OneWayLoad.Run(order, Opened(_pumps, order.Caller, _clients[0].OpenPumpAsync)),
        LoadShape.Drain => OneWayLoad.Run(order, Opened(_drains, order.Caller, _clients[0].OpenDrainAsync)),
        LoadShape.Batch => BatchLoad.Run(order, _batch ??= _clients[0].OpenBatch()),
        LoadShape.Backlog => BacklogLoad.Run(order, BacklogOf((int)order.Calls), ref _backlogSequence),
        _ => throw new ArgumentOutOfRangeException(nameof(order), order.Shape, "No such load."),
    };

    /// <summary>
    /// Opens further connections one after another, each with calls on it, and keeps them. Returns the time in ticks.
    /// </summary>
    public long Widen(long connections, long callsEach)
    {
        long start = Stopwatch.GetTimestamp();
        for (long i = 0; i < connections; i++)
        {
            IArmClient further = makeClient();
            IEcho echo = further.OpenEchoAsync(CallerKind.Async).GetAwaiter().GetResult();
            for (long call = 0; call < callsEach; call++)
            {
                CallOnce(echo, call, () => echo.CallAsync().AsTask().GetAwaiter().GetResult());
            }

            _clients.Add(further);
        }

        return Stopwatch.GetTimestamp() - start;
    }

    /// <summary>Makes one call outside of any load. Returns the time of its answer.</summary>
    /// <exception cref="InvalidDataException">The answer is wrong.</exception>
    public static long CallOnce(IEcho echo, long number, Action call)
    {
        PayloadPattern.Fill(echo.Prepare(new ExchangeSize(CallBytes, LoadOrder.SameAsRequest)).Span, number);
        echo.Seal();
        call();
        long answered = Stopwatch.GetTimestamp();
        return PayloadPattern.CountWrong(echo.Reply, number, CallBytes) == 0
            ? answered
            : throw new InvalidDataException($"Answer {number} is wrong.");
    }

    private List<EchoCaller> EchoCallers(LoadOrder order)
    {
        if (order.Blocks)
        {
            return [new EchoCaller([_clients[0].OpenBlocking()], index: 0)];
        }

        if (order.Connections > _clients.Count)
        {
            throw new InvalidOperationException($"There are {_clients.Count} connections, not {order.Connections}.");
        }

        // With several connections, the number of callers decides which are whose.
        (CallerKind, int, int) form =
            (order.Caller, order.Connections, order.Connections == 1 ? 0 : order.Callers);
        if (!_echoes.TryGetValue(form, out List<EchoCaller>? callers))
        {
            _echoes.Add(form, callers = []);
        }

        while (callers.Count < order.Callers)
        {
            callers.Add(new EchoCaller([.. EchoesOf(callers.Count, order)], callers.Count));
        }

        return callers[..order.Callers];
    }

    private IEnumerable<IEcho> EchoesOf(int caller, LoadOrder order)
    {
        for (int i = caller % order.Connections; i < order.Connections; i += order.Callers)
        {
            yield return _clients[i].OpenEchoAsync(order.Caller).GetAwaiter().GetResult();
        }
    }

    private List<IEcho> BacklogOf(int calls)
    {
        while (_backlog.Count < calls)
        {
            _backlog.Add(_clients[0].OpenEchoAsync(CallerKind.Async).GetAwaiter().GetResult());
        }

        return _backlog[..calls];
    }

    private static T Opened<T>(Dictionary<CallerKind, T> opened, CallerKind caller, Func<CallerKind, Task<T>> openAsync)
    {
        if (!opened.TryGetValue(caller, out T? found))
        {
            found = openAsync(caller).GetAwaiter().GetResult();
            opened.Add(caller, found);
        }

        return found;
    }
}
