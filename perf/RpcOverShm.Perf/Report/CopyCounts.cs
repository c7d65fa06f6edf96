namespace RpcOverShm.Perf.Report;

/// <summary>
/// How often each byte of a message is copied on its way from the sender's message to the receiver's, by construction
/// of the arm: what the code does, not what was measured. The kernel copies once in and once out for a socket or pipe.
/// </summary>
internal static class CopyCounts
{
    private static readonly Dictionary<string, string> s_ofArm = new()
    {
        ["memcpy"] = "1",
        ["raw-ring"] = "2",
        ["raw-stream"] = "2",
        ["mmap"] = "2",
        ["signal"] = "2",
        ["pipe"] = "2",
        ["pipe-again"] = "2",
        ["pipe-sync"] = "2",
        ["pipe-async"] = "2",
        ["uds"] = "2",
        ["tcp"] = "2",
        ["fifo"] = "2",

        // An array is sent from where it lies, unless it has to wait. From 1 KiB on it goes out of the ring into the
        // array that it becomes; a smaller one goes through pooled memory.
        ["shm-raw"] = "2; 3 below 1 KiB",

        // Serialised into a pooled buffer, into the ring, out of it into pooled memory, parsed into the message.
        ["shm-protobuf"] = "4",
        ["shm-protobuf-record"] = "4",
        ["shm-msgpack-record"] = "4",
        ["pipe-protobuf-record"] = "4",
        ["pipe-msgpack-record"] = "4",
        ["uds-protobuf-record"] = "4",
        ["uds-msgpack-record"] = "4",

        // Kept where it was put together, and sent from where it lies.
        ["shm-payload"] = "3; 2 above 32 KiB",

        // And through the serialiser's own buffers.
        ["shm-object"] = "at least 5",

        // Without the copy out of the ring, where the message is one record.
        ["shm-protobuf-in-place"] = "3",

        // And into the batch, which holds the calls until they are sent; only on the way there.
        ["shm-protobuf-batch"] = "5 there, 4 back",
        ["pipe-protobuf"] = "4",

        // Serialised, through the kernel, parsed; the copies within such a library are its own affair.
        ["grpc-core-uds"] = "at least 4",
        ["grpc-dotnet-uds"] = "at least 4",
        ["streamjsonrpc-uds"] = "at least 4",
        ["posix-mq"] = "2",
        ["zeromq"] = "at least 2",
    };

    /// <summary>Empty for an arm that carries no message.</summary>
    public static string Of(string arm) => s_ofArm.GetValueOrDefault(arm, "");
}
