using System.Runtime.InteropServices;
using Grpc.Core;

namespace RpcOverShm.Calls;

/// <summary>
/// The handles that go with a call or with a message of a stream, and who gets those of the peer. Interceptors, retries
/// and stream writers keep the write options of what they pass on, so these carry them.
/// </summary>
internal sealed class CarriedHandles : WriteOptions
{
    /// <exception cref="ArgumentException">There are too many handles, or one is null, closed or invalid.</exception>
    public CarriedHandles(WriteOptions? plain, SafeHandle[] toSend, HandleQueue? received)
        : base(plain?.Flags ?? 0)
    {
        Plain = (plain as CarriedHandles)?.Plain ?? plain;
        ToSend = HandlePassing.Checked(toSend);
        Received = received;
    }

    /// <summary>The options without handles.</summary>
    public WriteOptions? Plain { get; }

    public SafeHandle[] ToSend { get; }

    /// <summary>Takes the handles of the peer; null if the caller wants none.</summary>
    public HandleQueue? Received { get; }

    /// <summary>Returns the options for the messages of a stream whose call has these.</summary>
    public static WriteOptions? PlainOf(WriteOptions? options) => options is CarriedHandles own ? own.Plain : options;
}
