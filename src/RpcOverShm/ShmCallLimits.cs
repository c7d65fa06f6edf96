using RpcOverShm.Protocol;
using RpcOverShm.Servers;

namespace RpcOverShm;

/// <summary>
/// The limits of the calls that one side serves: those of a channel's callbacks, and with <see cref="ShmServerLimits"/>
/// those of a server.
/// </summary>
/// <remarks>Read with the options that it is in. Not thread-safe. Nothing to dispose.</remarks>
public class ShmCallLimits
{
    // Of all connections, without MaxBufferSize: the share of the memory that is available to the process.
    private const int ShareOfMemory = 4;

    // By default the largest message fits with its array, which may be larger, and with what is counted besides.
    private const long RoomOfMessage = 2;

    /// <summary>
    /// Gets or sets the maximum number of methods that run at a time for one connection; 1 to 65,536.
    /// </summary>
    /// <remarks>
    /// <para>
    /// Defaults to 10,000 for a server and to 16 for callbacks. Excess calls wait in the order of their arrival; see
    /// <see cref="MaxQueuedCallsPerConnection"/>. A call counts from the start of its method, when its request is
    /// complete, until the method has ended. 1 runs callbacks one after the other, as WCF does by default. A call that
    /// a running method may wait for runs although no place is free, one at a time for each method in front of it: a
    /// call that a callback makes, and one that a method makes to its own server through a channel of the same process.
    /// </para>
    /// <para>
    /// A method that awaits keeps memory only. One that blocks keeps a thread of the pool, to which .NET adds about two
    /// in a second, and methods of other clients wait for one: lower a server's limit if its methods block. What a
    /// client's process awaits itself, also before it exits, waits behind the methods that have no thread yet, so the
    /// default of callbacks is low. Raise it for methods that await for long, such as streams.
    /// </para>
    /// <para>
    /// At most, a connection costs this number of running methods, and in chains 1 + <see cref="MaxCallbackDepth"/>
    /// times that, or more if methods of other connections are in front of its calls; each with a request of
    /// <see cref="ShmServerOptions.MaxReceiveMessageSize"/> and metadata of
    /// <see cref="ShmServerLimits.MaxMetadataSize"/>. The requests that wait count towards
    /// <see cref="MaxConnectionBufferSize"/>. All connections of a server together cost that for each, unless
    /// <see cref="ShmServerLimits.MaxConcurrentCalls"/> is set.
    /// </para>
    /// </remarks>
    public int MaxConcurrentCallsPerConnection { get; set; } = ShmDefaults.MaxConcurrentCallbacks;

    /// <summary>
    /// Gets or sets the maximum number of calls of one connection that wait for their turn.
    /// <para>0 lets no call wait: it is refused if it cannot run at once.</para>
    /// </summary>
    /// <remarks>
    /// <para>
    /// Defaults to 10,000 for a server and to 2,000 for callbacks. Beyond it, a call fails with
    /// <see cref="Grpc.Core.StatusCode.ResourceExhausted"/>. A waiting call has its deadline, and leaves its place when
    /// it is cancelled. Calls that wait for the start of an earlier one
    /// (<see cref="ShmServiceOptions.EnableOrderedDispatch"/>) count too, but for as many as could run. One-way calls
    /// do not count. A server that stops refuses waiting calls with <see cref="Grpc.Core.StatusCode.Unavailable"/>, so
    /// they can go to the next server. It lets one-way calls run, and calls that a running method may wait for.
    /// </para>
    /// <para>
    /// The peer learns that this side takes <see cref="MaxConcurrentCallsPerConnection"/> and this number of calls at a
    /// time, at most 65,536. At most, waiting calls cost <see cref="MaxConnectionBufferSize"/> for each connection.
    /// </para>
    /// </remarks>
    public int MaxQueuedCallsPerConnection { get; set; } = ShmDefaults.MaxQueuedCallbacks;

    /// <summary>
    /// Gets or sets the maximum number of bytes that one connection can make this side keep: incomplete and unread
    /// requests, incomplete heads, waiting calls and responses that the peer does not read; 1 or more, and at least
    /// the MaxReceiveMessageSize of the server or channel. With twice that, and 1 KiB for the call, the largest message
    /// fits for sure.
    /// <para>
    /// Null means 128 MiB, or twice MaxReceiveMessageSize if that is more; no limit of its own if that is null.
    /// </para>
    /// </summary>
    /// <remarks>
    /// <para>
    /// Defaults to null. If a request would exceed it, its call fails with
    /// <see cref="Grpc.Core.StatusCode.ResourceExhausted"/>; the connection goes on. What counts is the array of a
    /// request, up to twice its size, and the texts of its head: its metadata and its host. The head counts again for
    /// an answer that waits for the peer. While answers of more than half of it wait for the peer, no method begins:
    /// calls wait as if too many ran. A streaming method waits for its peer in any case: see
    /// <see cref="Grpc.Core.IAsyncStreamWriter{T}.WriteAsync(T)"/>.
    /// </para>
    /// <para>
    /// Not counted are the two rings, and the requests and answers that methods hold: lower
    /// <see cref="MaxConcurrentCallsPerConnection"/> if they are large. While too many answers wait, a method that has
    /// ended keeps its answer, as an object, until others have gone. All connections of a server together cost this for
    /// each, and at most <see cref="ShmServerLimits.MaxBufferSize"/>. The free arrays that a process keeps for reuse
    /// after a burst are at most 64 MiB, and about 4 MiB for each processor.
    /// </para>
    /// </remarks>
    public long? MaxConnectionBufferSize { get; set; }

    /// <summary>
    /// Gets or sets the maximum number of calls and callbacks in front of a call in its chain; 1 or more.
    /// </summary>
    /// <remarks>
    /// <para>
    /// Defaults to 16. In a chain the method of each call makes the next one, before it ends. A callback beyond the
    /// limit of its client, and a call beyond that of its server, which the method of a callback makes, fail with
    /// <see cref="Grpc.Core.StatusCode.ResourceExhausted"/>.
    /// </para>
    /// <para>
    /// Two sides that answer each message with another one, without awaiting it, make a chain too. Such a call belongs
    /// to no chain if it is started while the flow of the context is suppressed
    /// (<see cref="System.Threading.ExecutionContext.SuppressFlow"/>).
    /// </para>
    /// </remarks>
    public int MaxCallbackDepth { get; set; } = ShmDefaults.MaxCallbackDepth;

    /// <summary>Returns the checked limits.</summary>
    /// <param name="path">The groups that this group is in, and its own name.</param>
    /// <param name="maxReceiveMessageSize">The option of that name, of the server or channel.</param>
    /// <param name="memoryBytes">The memory that is available to the process; null to ask the runtime.</param>
    /// <exception cref="ArgumentException">A limit is not allowed, or contradicts another one.</exception>
    internal virtual ServerLimits ToServerLimits(string path, int? maxReceiveMessageSize, long? memoryBytes = null)
    {
        const string Message = nameof(ShmServerOptions.MaxReceiveMessageSize);
        string bufferSize = $"{path}.{nameof(MaxConnectionBufferSize)}";
        OptionRanges.Between(
            1,
            PeerLimits.CallsPerConnection,
            MaxConcurrentCallsPerConnection,
            $"{path}.{nameof(MaxConcurrentCallsPerConnection)}");
        OptionRanges.AtLeast(0, MaxQueuedCallsPerConnection, $"{path}.{nameof(MaxQueuedCallsPerConnection)}");
        OptionRanges.AtLeast(1, MaxConnectionBufferSize, bufferSize, $"a default that follows {Message}");
        OptionRanges.NotBelow(maxReceiveMessageSize, Message, MaxConnectionBufferSize, bufferSize);
        OptionRanges.AtLeast(1, MaxCallbackDepth, $"{path}.{nameof(MaxCallbackDepth)}");
        long byDefault = maxReceiveMessageSize is { } size
            ? Math.Max(ShmDefaults.MaxConnectionBufferSize, size * RoomOfMessage)
            : long.MaxValue;

        // Without a limit of messages there is room for the largest one that can be.
        long least = MaxConnectionBufferSize ?? (maxReceiveMessageSize ?? int.MaxValue) * RoomOfMessage;
        long memory = memoryBytes ?? GC.GetGCMemoryInfo().TotalAvailableMemoryBytes;
        return new ServerLimits(
            MaxConcurrentCallsPerConnection,
            MaxCalls: null,
            MaxQueuedCallsPerConnection,
            MaxConnectionBufferSize ?? byDefault,
            Math.Max(least, memory / ShareOfMemory),
            ShmDefaults.RequestHeadTimeout);
    }
}
