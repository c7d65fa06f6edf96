using RpcOverShm.Perf.Peer.Loads;

namespace RpcOverShm.Perf.Peer.Arms;

/// <summary>
/// The client's end of an arm. What it has opened stays open until the process ends. A form that the arm does not
/// support throws <see cref="NotSupportedException"/>.
/// </summary>
internal interface IArmClient
{
    Task<IEcho> OpenEchoAsync(CallerKind caller) => throw new NotSupportedException();

    Task<IPump> OpenPumpAsync(CallerKind caller) => throw new NotSupportedException();

    Task<IDrain> OpenDrainAsync(CallerKind caller) => throw new NotSupportedException();

    IBatch OpenBatch() => throw new NotSupportedException();
}
