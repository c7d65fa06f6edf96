using RpcOverShm.Perf.Peer.Loads;

namespace RpcOverShm.Perf.Peer.Arms;

/// <summary>
/// One caller's way to an echo: prepare a request, fill it, call, look at the reply. Used by one thread at a time, and
/// in one of its two forms, the one it was opened for.
/// </summary>
internal interface IEcho
{
    /// <summary>The reply's payload, until the next <see cref="Prepare"/>.</summary>
    ReadOnlySpan<byte> Reply { get; }

    /// <summary>
    /// Makes what the next call sends, all but its bytes: they go into the memory returned. Not on the clock.
    /// </summary>
    Memory<byte> Prepare(ExchangeSize size);

    /// <summary>The bytes are in place: the last of what is not on the clock.</summary>
    void Seal()
    {
    }

    void Call();

    ValueTask CallAsync();
}
