using System.Text;
using Grpc.Core;
using RpcOverShm.Buffers;
using RpcOverShm.Calls;
using RpcOverShm.Connections;
using RpcOverShm.Protocol;

namespace RpcOverShm.Clients;

/// <summary>Encodes the heads of calls. A head that cannot be sent ends only its own call.</summary>
internal static class RequestHeads
{
    // The length of the host has 16 bits on the wire.
    private const int LongestHostBytes = ushort.MaxValue;
    private const int LongestUtf8Char = 3;

    [ThreadStatic]
    private static PooledBufferWriter? s_head;

    /// <summary>
    /// Encodes a head into a buffer of this thread, which the next head overwrites. If that fails, ends the call and
    /// returns false.
    /// </summary>
    public static bool TryEncode(
        Connection connection, ClientCall call, in RequestHeadInputs target, string? codec, out PooledBufferWriter head)
    {
        head = s_head ??= new PooledBufferWriter();
        head.Clear();
        if (target.Host is { } host && IsTooLong(host))
        {
            call.FinishUnsent(new Status(StatusCode.Internal, $"The host has more than {LongestHostBytes} bytes."));
            return false;
        }

        if (target.Encoding is { } encoding and not MessageEncoding.Gzip)
        {
            call.FinishUnsent(StatusMapping.EncodingNotFound(encoding));
            return false;
        }

        Metadata? headers = target.Headers is { Count: > 0 } some ? some : null;
        if (headers is not null && FindProblem(headers, connection.PeerLimits.MaxMetadataBytes) is { } problem)
        {
            call.FinishUnsent(problem);
            return false;
        }

        var content = new RequestHead
        {
            Method = target.FullName,
            Timeout = call.Remaining is { } remaining ? TimeSpan.FromTicks(Math.Max(remaining.Ticks, 1)) : null,
            Codec = codec,
            Host = target.Host,
            Encoding = target.Encoding,
            Parent = call.IsOneWay ? null : ParentOn(connection, call), // Nobody waits for a one-way call.
            Metadata = headers,
        };
        content.Encode(head);
        return true;
    }

    // A parent that came on the same connection makes the call a callback. Of others only a server of this process can
    // know the parent, and believes only this process.
    private static ParentCall? ParentOn(Connection connection, ClientCall call)
    {
        RunningCall? maker = call.Maker ??= RunningCall.Current;
        if (maker?.Name is not { } parent)
        {
            return null;
        }

        if (connection.Peer.ProcessId == Environment.ProcessId)
        {
            maker.Publish();
            return parent;
        }

        return parent.ConnectionId == connection.Id ? parent : null;
    }

    private static bool IsTooLong(string host) =>
        host.Length > LongestHostBytes / LongestUtf8Char && Encoding.UTF8.GetByteCount(host) > LongestHostBytes;

    private static Status? FindProblem(Metadata headers, long limitBytes)
    {
        if (MetadataCodec.Check(headers) is { } problem)
        {
            return new Status(StatusCode.Internal, problem);
        }

        return PreviousAttemptsHeader.MeasureBytes(headers) > limitBytes
            ? StatusMapping.MetadataTooLarge("The request's metadata", limitBytes)
            : null;
    }
}
