using RpcOverShm.Protocol;
using RpcOverShm.Rings;

namespace RpcOverShm.Fuzz.Frames;

/// <summary>
/// The frames that the connection under test sends. Each must be legal by itself, and none of a call may follow the
/// call's last one, however the peer behaves.
/// </summary>
internal sealed class Answers(RingReader ring, bool isFromAcceptor)
{
    private readonly HashSet<uint> _ended = [];

    /// <summary>Takes and checks all frames that are there, and gives their space back.</summary>
    /// <exception cref="FuzzFindingException">A frame is illegal.</exception>
    public void Take()
    {
        while (ring.TryRead(out RecordHeader record, out ReadOnlySpan<byte> payload))
        {
            var frame = new FrameHeader(
                (FrameKind)record.Kind,
                (FrameFlags)record.Flags,
                record.HeadLength,
                new CallId(record.StreamId),
                record.Argument,
                payload.Length);
            if (frame.Check() is { } problem)
            {
                throw new FuzzFindingException($"This side sent {problem}.");
            }

            if (isFromAcceptor && (frame.Flags & FrameFlags.HalfClose) != 0)
            {
                throw new FuzzFindingException($"This side half-closed call {frame.Call} of its peer.");
            }

            // A call that is cancelled is ended for its caller, but its peer still sends an End.
            bool isLast = frame.Kind is FrameKind.End or FrameKind.Cancel;
            if (_ended.Contains(frame.Call.Value) || (isLast && !_ended.Add(frame.Call.Value)))
            {
                throw new FuzzFindingException($"This side sent a {frame.Kind} after the end of call {frame.Call}.");
            }

            ring.Release();
        }

        ring.PublishHead();
    }
}
