using Grpc.Core;
using RpcOverShm.Buffers;
using RpcOverShm.Calls;
using RpcOverShm.Connections;
using RpcOverShm.Protocol;

namespace RpcOverShm.Clients;

/// <summary>
/// The inputs of the request head that the call object does not have. Encodes the head. If the head cannot be sent,
/// only its own call ends.
/// </summary>
/// <param name="FullName">The full name of the method, in UTF-8.</param>
/// <param name="Host">The authority that the caller has set; null for none.</param>
/// <param name="Headers">The request's metadata at the time of the call; null for none.</param>
/// <param name="IsWaitForReady">Whether the call waits until there is a server.</param>
/// <param name="Encoding">The encoding of the requests; null for none.</param>
/// <param name="MayCompress">Whether the single request may be compressed with the encoding.</param>
internal readonly record struct RequestHeadInputs(
    byte[] FullName, string? Host, Metadata? Headers, bool IsWaitForReady, string? Encoding, bool MayCompress)
{
    // The length of the host has 16 bits on the wire.
    private const int LongestHostBytes = ushort.MaxValue;
    private const int LongestUtf8Char = 3;

    [ThreadStatic]
    private static PooledBufferWriter? s_head;

    public static RequestHeadInputs Of(byte[] fullName, string? host, in CallOptions options)
    {
        // A copy: the head may be encoded later, or again for a retry, after the caller has changed its metadata.
        Metadata? headers = options.Headers is { Count: > 0 } some ? [.. some] : null;
        string? wanted = headers is null ? null : MessageEncoding.Take(MessageEncoding.RequestedKey, ref headers);
        string? encoding = wanted == MessageEncoding.Identity ? null : wanted;
        return new RequestHeadInputs(
            fullName,
            host,
            headers,
            options.IsWaitForReady,
            encoding,
            encoding is not null && MessageEncoding.MayCompress(options.WriteOptions));
    }

    /// <summary>
    /// Encodes a head into a buffer of this thread, which the next head overwrites. If that fails, ends the call and
    /// returns false.
    /// </summary>
    public bool TryEncode(Connection connection, ClientCall call, string? codec, out PooledBufferWriter head)
    {
        head = s_head ??= new PooledBufferWriter();
        head.Clear();
        if (Host is { } host && IsTooLong(host))
        {
            call.FinishUnsent(new Status(StatusCode.Internal, $"The host has more than {LongestHostBytes} bytes."));
            return false;
        }

        if (Encoding is { } encoding and not MessageEncoding.Gzip)
        {
            call.FinishUnsent(StatusMapping.EncodingNotFound(encoding));
            return false;
        }

        Metadata? headers = Headers is { Count: > 0 } some ? some : null;
        if (headers is not null && FindProblem(headers, connection.PeerLimits.MaxMetadataBytes) is { } problem)
        {
            call.FinishUnsent(problem);
            return false;
        }

        long handles = 0;
        if (call.Handles is { ToSend.Length: > 0 } carried
            && HandlePassing.TryPass(connection, carried.ToSend, out handles) is { } notPassed)
        {
            call.FinishUnsent(notPassed);
            return false;
        }

        var content = new RequestHead
        {
            Method = FullName,
            Timeout = call.Remaining is { } remaining ? TimeSpan.FromTicks(Math.Max(remaining.Ticks, 1)) : null,
            Codec = codec,
            Host = Host,
            Encoding = Encoding,
            Parent = call.IsOneWay ? null : ParentOn(connection, call), // Nobody waits for a one-way call.
            Handles = handles,
            Metadata = headers,
        };
        content.Encode(head);
        return true;
    }

    // A parent on the same connection makes the call a callback. A parent on another connection is sent only to a
    // server in this process: no other server knows it.
    private static ParentCall? ParentOn(Connection connection, ClientCall call)
    {
        RunningCall? parent = call.Parent ??= RunningCall.Current;
        if (parent?.AsParent is not { } reference)
        {
            return null;
        }

        if (connection.Peer.ProcessId == Environment.ProcessId)
        {
            parent.MakeFindable();
            return reference;
        }

        return reference.ConnectionId == connection.Id ? reference : null;
    }

    private static bool IsTooLong(string host) =>
        host.Length > LongestHostBytes / LongestUtf8Char
        && System.Text.Encoding.UTF8.GetByteCount(host) > LongestHostBytes;

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

/// <summary>
/// The inputs of a call with one request, kept while the call may be started again. For a call with default options
/// the request itself is the snapshot, which saves this object.
/// </summary>
internal sealed record RetrySnapshot(object Request, RequestHeadInputs Inputs)
{
    /// <summary>Returns the snapshot to keep of a call.</summary>
    public static object Of(object request, in RequestHeadInputs inputs) =>
        inputs is { Host: null, Headers: null, IsWaitForReady: false, Encoding: null }
            ? request
            : new RetrySnapshot(request, inputs);

    /// <summary>Returns the inputs from the snapshot that was kept of a call.</summary>
    public static RetrySnapshot From(object kept, byte[] methodName) =>
        kept as RetrySnapshot ?? new RetrySnapshot(kept, RequestHeadInputs.Of(methodName, null, default));
}
