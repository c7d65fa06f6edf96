namespace RpcOverShm.Perf.Peer.Arms;

/// <summary>
/// A way to send the server messages. One thread at a time, and in the form it was opened for.
/// </summary>
internal interface IDrain
{
    /// <summary>Sends messages numbered from 0, and waits until the server says that it has all.</summary>
    void Send(long messages, int sizeBytes);

    /// <inheritdoc cref="Send"/>
    Task SendAsync(long messages, int sizeBytes);
}
