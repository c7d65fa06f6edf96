namespace RpcOverShm.Perf.Peer.Arms;

/// <summary>
/// The client's end of an arm. Everything that it opens stays open until the process ends. An unsupported form throws
/// <see cref="NotSupportedException"/>.
/// </summary>
internal interface IArmClient
{
    Task<IEcho> OpenEchoAsync(CallerKind caller) => throw new NotSupportedException();

    /// <summary>
    /// Opens an echo of a method that blocks before it answers (<see cref="ServedWork.Block"/>): each time of another
    /// method, so that the server does not know it.
    /// </summary>
    IEcho OpenBlocking() => throw new NotSupportedException();

    /// <summary>Returns a blocking call of a method that answers after so many milliseconds.</summary>
    Action<int> OpenDelay() => throw new NotSupportedException();

    Task<IPump> OpenPumpAsync(CallerKind caller) => throw new NotSupportedException();

    Task<IDrain> OpenDrainAsync(CallerKind caller) => throw new NotSupportedException();

    IBatch OpenBatch() => throw new NotSupportedException();

    /// <summary>Opens a subscription of the server's feed. From then on, the reader gets every message.</summary>
    Task SubscribeAsync(FeedReader reader) => throw new NotSupportedException();
}
