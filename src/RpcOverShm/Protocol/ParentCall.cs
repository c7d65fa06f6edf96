using RpcOverShm.Buffers;

namespace RpcOverShm.Protocol;

/// <summary>
/// The name of a running call, which the calls of its method tell: the peer knows a callback for it by that, and a
/// server of the same process a nested call, which may borrow the place of the running one.
/// </summary>
/// <param name="ConnectionId">The id of the connection on which the running call came.</param>
/// <param name="Call">The id of the running call on that connection.</param>
internal sealed record ParentCall(Guid ConnectionId, CallId Call)
{
    private const int GuidBytes = 16;

    public void Encode(PooledBufferWriter to)
    {
        ConnectionId.TryWriteBytes(to.Append(GuidBytes));
        to.WriteUInt32(Call.Value);
    }

    /// <exception cref="ProtocolException">The head ends too early.</exception>
    public static ParentCall Decode(ref WireReader from) =>
        new(new Guid(from.ReadBytes(GuidBytes)), new CallId(from.ReadUInt32()));
}
