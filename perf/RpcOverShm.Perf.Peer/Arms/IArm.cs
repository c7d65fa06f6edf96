namespace RpcOverShm.Perf.Peer.Arms;

/// <summary>
/// One mechanism of talking between two processes, both ends of it. An arm has no state of its own: the server's end
/// lives in one process, until that ends, and the client's in another.
/// </summary>
internal interface IArm
{
    /// <summary>The name in every table.</summary>
    string Name { get; }

    /// <summary>The program of both ends, in a folder beside the suite; empty for the usual one.</summary>
    string Program => "";

    /// <summary>
    /// The size in bytes from which arrays are large objects in both processes; 0 for the runtime's default, 85,000.
    /// </summary>
    int LargeObjectsFrom => 0;

    /// <summary>The largest message that the mechanism carries, in bytes.</summary>
    int LargestBytes => int.MaxValue;

    /// <summary>True when no server takes part: a limit of the machine itself, measured in the client.</summary>
    bool IsLocal => false;

    /// <summary>The publisher of messages for many readers, in the process that serves.</summary>
    IFeed Feed => throw new NotSupportedException();

    /// <summary>Whether the mechanism has this form.</summary>
    bool Supports(LoadShape shape, CallerKind caller);

    /// <summary>Starts to serve all that the arm supports, any number of clients at a time.</summary>
    /// <param name="place">A path in a directory of the run, which nothing has yet.</param>
    /// <returns>The place for <see cref="MakeClient"/>.</returns>
    Task<string> ServeAsync(string place);

    /// <summary>Makes the client's end. It connects when something is opened.</summary>
    IArmClient MakeClient(string place);
}

/// <summary>The server's way to many readers. One thread at a time: that of the orders.</summary>
internal interface IFeed
{
    /// <summary>The readers that get what is published from now on.</summary>
    int Subscribers { get; }

    /// <summary>Publishes a message, which may be changed afterwards. Blocks while a reader is too slow.</summary>
    void Publish(byte[] message);
}

/// <summary>
/// One caller's access to an echo: prepare a request, fill it, call, read the reply. Used by one thread at a time, and
/// only in the form that it was opened for.
/// </summary>
internal interface IEcho
{
    /// <summary>The reply's payload, until the next <see cref="Prepare"/>.</summary>
    ReadOnlySpan<byte> Reply { get; }

    /// <summary>
    /// Makes the next request except for its bytes, which go into the returned memory. Not on the clock.
    /// </summary>
    Memory<byte> Prepare(ExchangeSize size);

    /// <summary>Completes the request after its bytes are in place. Not on the clock.</summary>
    void Seal()
    {
    }

    void Call();

    ValueTask CallAsync();
}

/// <summary>
/// A way to have the server send messages. One thread at a time. A pump for a blocking caller has done its work when it
/// returns.
/// </summary>
internal interface IPump
{
    /// <summary>Asks for messages numbered from 0 and passes each to the sink, in their order.</summary>
    Task ReceiveAsync(long messages, int sizeBytes, PumpSink sink);
}

/// <summary>
/// A way to send the server messages. One thread at a time. A drain for a blocking caller has done its work when it
/// returns.
/// </summary>
internal interface IDrain
{
    /// <summary>Sends messages numbered from 0. Returns how many the server says that it has received.</summary>
    Task<long> SendAsync(long messages, int sizeBytes);
}

/// <summary>
/// A connection that carries whole messages both ways, for arms whose two ends block or spin. One thread at a time.
/// </summary>
internal interface IMessageLink
{
    /// <summary>The last message, until the next one.</summary>
    ReadOnlySpan<byte> Received { get; }

    void Send(ReadOnlySpan<byte> message);

    /// <summary>Waits for a message.</summary>
    void Receive();
}

/// <summary>Calls that are sent together: prepare, call, check. One thread at a time.</summary>
internal interface IBatch
{
    /// <summary>Fills the requests. Not on the clock.</summary>
    void Prepare(int calls, LoadOrder order);

    /// <summary>Records all calls, sends them, and awaits all answers.</summary>
    Task CallAsync();

    /// <summary>The bytes of the answers that are wrong. Not on the clock.</summary>
    long CountWrong();
}
