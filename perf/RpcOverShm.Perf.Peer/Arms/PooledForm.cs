using System.Buffers;

namespace RpcOverShm.Perf.Peer.Arms;

/// <summary>Raw bytes in pooled memory, as a proxy or a file server would send them.</summary>
internal sealed class PooledForm : MessageForm<ShmPayload>
{
    [ThreadStatic]
    private static EchoAnswer? s_answer;

    public override Marshaller<ShmPayload> Marshaller => ShmPayload.Marshaller;

    public override ShmPayload Make(byte[] bytes) => ShmPayload.Wrap(bytes);

    public override ReadOnlySpan<byte> BytesOf(ShmPayload message, ref byte[] scratch)
    {
        ReadOnlySequence<byte> bytes = message.Bytes;
        scratch = scratch.Length < bytes.Length ? new byte[bytes.Length] : scratch;
        bytes.CopyTo(scratch);
        return scratch.AsSpan(0, (int)bytes.Length);
    }

    /// <summary>
    /// Checks the request where it lies, in pieces: a copy would be on the clock. Another answer is made in a buffer of
    /// this thread and copied into pooled memory.
    /// </summary>
    public override Task<ShmPayload> EchoAsync(ShmPayload request)
    {
        ServedTally.CountRequest(request.Bytes);
        if (!(s_answer ??= new EchoAnswer()).TryMake(request.Bytes.FirstSpan, out Memory<byte> answer))
        {
            return Task.FromResult(request);
        }

        request.Dispose();
        return Task.FromResult(ShmPayload.CopyOf(new ReadOnlySequence<byte>(answer)));
    }

    /// <summary>Checks the message where it lies, as the arms of arrays do, and gives its memory back.</summary>
    public override void Take(ShmPayload message, PumpSink sink)
    {
        sink.Take(message.Bytes);
        message.Dispose();
    }

    /// <inheritdoc cref="Take"/>
    public override void Count(ShmPayload message)
    {
        ServedTally.CountRequest(message.Bytes);
        message.Dispose();
    }
}
