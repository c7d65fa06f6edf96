namespace RpcOverShm.Perf.Peer.Loads;

/// <summary>
/// The client's side of the process: carries out slices of load, one at a time. Everything that a slice opens stays
/// open, asleep, for the next slice of its kind.
/// </summary>
internal sealed class LoadRunner(IArmClient client)
{
    private readonly Dictionary<CallerKind, List<EchoCaller>> _echoes = [];
    private readonly Dictionary<CallerKind, IPump> _pumps = [];
    private readonly Dictionary<CallerKind, IDrain> _drains = [];
    private readonly List<IEcho> _backlog = [];
    private IBatch? _batch;
    private long _backlogSequence;

    public LoadResult Run(LoadOrder order) => order.Shape switch
    {
        LoadShape.Echo => EchoLoad.Run(order, EchoCallers(order)),
        LoadShape.Pump => OneWayLoad.Run(order, Opened(_pumps, order.Caller, client.OpenPumpAsync)),
        LoadShape.Drain => OneWayLoad.Run(order, Opened(_drains, order.Caller, client.OpenDrainAsync)),
        LoadShape.Batch => BatchLoad.Run(order, _batch ??= client.OpenBatch()),
        LoadShape.Backlog => BacklogLoad.Run(order, BacklogOf((int)order.Calls), ref _backlogSequence),
        _ => throw new ArgumentOutOfRangeException(nameof(order), order.Shape, "No such load."),
    };

    private List<EchoCaller> EchoCallers(LoadOrder order)
    {
        if (!_echoes.TryGetValue(order.Caller, out List<EchoCaller>? callers))
        {
            _echoes.Add(order.Caller, callers = []);
        }

        while (callers.Count < order.Callers)
        {
            IEcho echo = client.OpenEchoAsync(order.Caller).GetAwaiter().GetResult();
            callers.Add(new EchoCaller(echo, callers.Count));
        }

        return callers[..order.Callers];
    }

    private List<IEcho> BacklogOf(int calls)
    {
        while (_backlog.Count < calls)
        {
            _backlog.Add(client.OpenEchoAsync(CallerKind.Async).GetAwaiter().GetResult());
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
