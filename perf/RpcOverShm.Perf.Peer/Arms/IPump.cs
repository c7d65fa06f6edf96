using RpcOverShm.Perf.Peer.Loads;

namespace RpcOverShm.Perf.Peer.Arms;

/// <summary>A way to have the server send messages. One thread at a time, and in the form it was opened for.</summary>
internal interface IPump
{
    /// <summary>Asks for messages numbered from 0 and gives each to the sink, in their order.</summary>
    void Receive(long messages, int sizeBytes, PumpSink sink);

    /// <inheritdoc cref="Receive"/>
    Task ReceiveAsync(long messages, int sizeBytes, PumpSink sink);
}
