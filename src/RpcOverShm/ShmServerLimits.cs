using RpcOverShm.Protocol;
using RpcOverShm.Servers;

namespace RpcOverShm;

/// <summary>The limits of what clients can make a <see cref="ShmServer"/> run and keep: a group of options.</summary>
/// <remarks>Read with the options that it is in. Not thread-safe. Nothing to dispose.</remarks>
public sealed class ShmServerLimits : ShmCallLimits
{
    /// <summary>Creates limits with the defaults of a server.</summary>
    public ShmServerLimits()
    {
        MaxConcurrentCallsPerConnection = ShmDefaults.MaxConcurrentCallsPerConnection;
        MaxQueuedCallsPerConnection = ShmDefaults.MaxQueuedCalls;
    }

    /// <summary>
    /// Gets or sets the maximum number of methods that run at a time for all connections of the server; 1 or more.
    /// <para>Null sets no such limit: only the one of each connection applies.</para>
    /// </summary>
    /// <remarks>
    /// <para>
    /// Defaults to null. Excess calls wait, each in a place of
    /// <see cref="ShmCallLimits.MaxConcurrentCallsPerConnection"/> and of
    /// <see cref="ShmCallLimits.MaxQueuedCallsPerConnection"/> of its connection. Connections take turns, so that many
    /// waiting calls of one client hold up no other; the calls of a connection begin in the order of their arrival.
    /// A method that has ended leaves its place, also if its response waits for a client that does not read.
    /// </para>
    /// <para>
    /// At most, the running methods of all connections together keep this number of requests, and in chains
    /// 1 + <see cref="ShmCallLimits.MaxCallbackDepth"/> times that: a call that a running method may wait for runs
    /// although no place is free.
    /// </para>
    /// </remarks>
    public int? MaxConcurrentCalls { get; set; }

    /// <summary>
    /// Gets or sets the maximum number of bytes that all connections together can make the server keep; at least
    /// <see cref="ShmCallLimits.MaxConnectionBufferSize"/>.
    /// <para>
    /// Null means a quarter of the memory that is available to the process; if that is less than
    /// <see cref="ShmCallLimits.MaxConnectionBufferSize"/>, or than twice
    /// <see cref="ShmServerOptions.MaxReceiveMessageSize"/> where that is null, it means those. If
    /// <see cref="ShmServerOptions.MaxReceiveMessageSize"/> is null too, it counts as <see cref="int.MaxValue"/>.
    /// </para>
    /// </summary>
    /// <remarks>
    /// Defaults to null. Counts what <see cref="ShmCallLimits.MaxConnectionBufferSize"/> counts, with the same effects.
    /// While more than half of it is kept, calls wait on those connections that have answers of more than 1 MiB unread.
    /// </remarks>
    public long? MaxBufferSize { get; set; }

    /// <summary>
    /// Gets or sets the maximum size, in bytes, of the request metadata of a call.
    /// <para>0 allows no metadata. The maximum is 16 MiB.</para>
    /// </summary>
    /// <remarks>
    /// Defaults to 64 KiB. Each entry counts its key, its value and 32 bytes, as in gRPC; the entry
    /// <c>grpc-previous-rpc-attempts</c> of a retry is not counted. If the metadata is larger, the call fails with
    /// <see cref="Grpc.Core.StatusCode.ResourceExhausted"/>.
    /// </remarks>
    public int MaxMetadataSize { get; set; } = ShmDefaults.MaxMetadataSize;

    /// <summary>
    /// Gets or sets the time in which the head of a request must come whole, if it is too large for one record; above
    /// zero and below 24 days.
    /// </summary>
    /// <remarks>
    /// Defaults to 30 seconds, as in Kestrel. If a head takes longer, its call fails with
    /// <see cref="Grpc.Core.StatusCode.DeadlineExceeded"/>. At most, an incomplete head costs
    /// <see cref="MaxMetadataSize"/> and 256 KiB, twice, which count towards
    /// <see cref="ShmCallLimits.MaxConnectionBufferSize"/>.
    /// </remarks>
    public TimeSpan RequestHeadTimeout { get; set; } = ShmDefaults.RequestHeadTimeout;

    /// <inheritdoc/>
    internal override ServerLimits ToServerLimits(string path, int? maxReceiveMessageSize, long? memoryBytes = null)
    {
        string bufferSize = $"{path}.{nameof(MaxBufferSize)}";
        OptionRanges.AtLeast(1, MaxConcurrentCalls, $"{path}.{nameof(MaxConcurrentCalls)}", "no such limit");
        OptionRanges.AtLeast(1, MaxBufferSize, bufferSize, "a quarter of the memory");
        OptionRanges.Between(0, PeerLimits.LargestMetadata, MaxMetadataSize, $"{path}.{nameof(MaxMetadataSize)}");
        OptionRanges.Timer(RequestHeadTimeout, $"{path}.{nameof(RequestHeadTimeout)}");
        ServerLimits limits = base.ToServerLimits(path, maxReceiveMessageSize, memoryBytes);
        OptionRanges.NotBelow(
            maxReceiveMessageSize, nameof(ShmServerOptions.MaxReceiveMessageSize), MaxBufferSize, bufferSize);
        OptionRanges.NotBelow(
            MaxConnectionBufferSize, $"{path}.{nameof(MaxConnectionBufferSize)}", MaxBufferSize, bufferSize);
        bool hasShare = MaxConnectionBufferSize is null && maxReceiveMessageSize is not null;
        return limits with
        {
            MaxCalls = MaxConcurrentCalls,
            MaxBytesPerConnection = hasShare
                ? Math.Min(limits.MaxBytesPerConnection, MaxBufferSize ?? long.MaxValue)
                : limits.MaxBytesPerConnection,
            MaxBytes = MaxBufferSize ?? limits.MaxBytes,
            HeadTimeout = RequestHeadTimeout,
        };
    }
}
