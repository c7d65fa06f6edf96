using Grpc.Core;
using RpcOverShm.Buffers;
using RpcOverShm.Protocol;

namespace RpcOverShm.Calls;

/// <content>Messages that lie in memory of the peer.</content>
internal sealed partial class InboundMessages
{
    /// <summary>Adds a whole message that lies in memory of the peer, and takes it over, also when it throws.</summary>
    /// <param name="message">The message.</param>
    /// <param name="recordBytes">The payload of its record.</param>
    /// <param name="flags">The flags of its frame.</param>
    /// <returns>The status that ends the call because of this message; null for none.</returns>
    /// <exception cref="ProtocolException">The message is not allowed now, or exceeds the credit.</exception>
    public Status? AddLoaned(ReceivedMessage message, int recordBytes, FrameFlags flags)
    {
        long credit = 0;
        Status? problem = null;
        try
        {
            using (_lock.Enter())
            {
                if (!_isAborted && !_isRefusing)
                {
                    long cost = ChargeFirst(recordBytes, flags);
                    problem = RefuseOrBegin(message.Length) ?? Count(message.KeptBytes);
                    if (problem is null)
                    {
                        _partial = message;
                        message = default;
                        credit = TakeCost(cost);
                        EndPart(isComplete: true, isLast: (flags & FrameFlags.HalfClose) != 0);
                    }
                }
            }
        }
        finally
        {
            message.Release(); // not under the lock: this tells the peer
        }

        Grant(credit);
        return problem;
    }
}
