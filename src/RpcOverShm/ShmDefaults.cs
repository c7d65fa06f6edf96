namespace RpcOverShm;

/// <summary>The defaults of the public options, and what has no option.</summary>
internal static class ShmDefaults
{
    public const int MaxReceiveMessageSize = 4 << 20;
    public const int MaxMetadataSize = 64 << 10;
    public const int RingCapacity = 1 << 20;
    public const int MaxConcurrentCallsPerConnection = 10_000;
    public const int MaxQueuedCalls = 10_000;
    public const int MaxConcurrentCallbacks = 16;
    public const int MaxQueuedCallbacks = 2_000;
    public const int MaxQueuedCallsPerInstance = 1_000;
    public const int MaxCallbackDepth = 16;
    public const long MaxConnectionBufferSize = 128 << 20;
    public const int MaxPendingHandshakes = 64;
    public const int MaxConnections = 1000;
    public const int MaxWaitingStreams = 128;
    public const int MaxPeerRingCapacity = 16 << 20;
    public const long MaxLoanConnectionSize = 256 << 20;
    public const long MaxTopicSize = 256 << 20;
    public const int TopicCapacity = 4 << 20;
    public const int TopicMessages = 1024;
    public const int MaxSubscribers = 10_000;
    public const int MaxHeldHandles = 256;
    public const int MaxRetryAttempts = 5;
    public const long MaxRetryBufferSize = 16 << 20;
    public const long MaxRetryBufferPerCallSize = 1 << 20;

    // Half of the default ring. Half of the credit is on its way back while the other half is used, so a single call
    // streams at full speed. A call that nobody reads keeps at most half a MiB of memory. Measured: with half of this
    // window, a message of 1 MiB takes a tenth longer; with twice the window, nothing is faster.
    public const uint CallWindow = 512 << 10;

    public static readonly TimeSpan ConnectTimeout = TimeSpan.FromSeconds(5);
    public static readonly TimeSpan RequestHeadTimeout = TimeSpan.FromSeconds(30);
    public static readonly TimeSpan InitialReconnectBackoff = TimeSpan.FromMilliseconds(10);
    public static readonly TimeSpan MaxReconnectBackoff = TimeSpan.FromSeconds(1);
}
