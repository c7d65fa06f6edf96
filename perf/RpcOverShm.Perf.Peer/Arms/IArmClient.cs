using RpcOverShm.Perf.Peer.Loads;

namespace RpcOverShm.Perf.Peer.Arms;

/// <summary>The client's end of an arm. What it has opened stays open until the process ends.</summary>
internal interface IArmClient
{
    Task<IEcho> OpenEchoAsync(CallerKind caller);

    Task<IPump> OpenPumpAsync(CallerKind caller);
}
