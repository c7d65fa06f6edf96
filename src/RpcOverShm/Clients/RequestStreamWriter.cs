using System.IO.Compression;
using Grpc.Core;
using RpcOverShm.Buffers;
using RpcOverShm.Calls;
using RpcOverShm.Connections;
using RpcOverShm.Protocol;

namespace RpcOverShm.Clients;

/// <summary>
/// Writes the requests of a streaming call. A write completes when the message is in the ring, so a server that does
/// not read stalls the writer.
/// </summary>
internal sealed class RequestStreamWriter<TRequest>(
    ClientCall call, Marshaller<TRequest> marshaller, int? limitBytes, Task<Connection?> started, bool isEncoded)
    : RequestWriter<TRequest, ClientCall>(call), IMessagePartSink
    where TRequest : class
{
    private static readonly Task<bool> s_dropped = Task.FromResult(false);

    int IMessagePartSink.SendPart(ReadOnlySpan<byte> part, int wholeLength) =>
        started is { IsCompletedSuccessfully: true, Result: { } connection } && WriteOptions is not CarriedHandles
            ? connection.Sender.SendPart(Call, FrameFlags.None, part, wholeLength)
            : 0;

    protected override Task<bool> StartWriteAsync(TRequest message)
    {
        if (Call.HasEnd)
        {
            return s_dropped;
        }

        FrameSerializationContext context;
        try
        {
            context = isEncoded
                ? FrameSerializationContext.Serialize(EncodedMarshaller(), message, limitBytes: null, parts: this)
                : FrameSerializationContext.Serialize(marshaller, message, limitBytes, parts: this, mayRefer: true);
        }
        catch (Exception exception)
        {
            Call.Finish(StatusMapping.FromRequestFailure(exception, Call.Side), isCancel: true);
            return s_dropped;
        }

        using (context)
        {
            return started.IsCompletedSuccessfully
                ? Send(started.Result, context.Bytes)
                : SendWhenStartedAsync(context.Bytes.Copy());
        }
    }

    protected override Task HalfCloseAsync()
    {
        if (Call.HasEnd)
        {
            return Task.CompletedTask;
        }

        if (started.IsCompletedSuccessfully)
        {
            started.Result?.Sender.Send(Call, FrameKind.HalfClose, FrameFlags.None, default, default);
            return Call.OnHalfClosedAsync();
        }

        return HalfCloseWhenStartedAsync();
    }

    private Marshaller<TRequest> EncodedMarshaller() => MessageEncoding.Writing(
        marshaller, MessageEncoding.MayCompress(WriteOptions), CompressionLevel.Fastest, limitBytes);

    private Task<bool> Send(Connection? connection, PooledBufferWriter bytes)
    {
        if (connection is not null
            && WriteOptions is CarriedHandles carried
            && HandlePassing.Send(connection, Call, carried.ToSend) is { } problem)
        {
            Call.Finish(problem, isCancel: true);
        }

        return connection?.Sender.SendMessageAsync(Call, FrameFlags.None, bytes) ?? s_dropped;
    }

    private async Task<bool> SendWhenStartedAsync(PooledBufferWriter bytes)
    {
        using (bytes)
        {
            return await Send(await started.ConfigureAwait(false), bytes).ConfigureAwait(false);
        }
    }

    private async Task HalfCloseWhenStartedAsync()
    {
        Connection? connection = await started.ConfigureAwait(false);
        connection?.Sender.Send(Call, FrameKind.HalfClose, FrameFlags.None, default, default);
        await Call.OnHalfClosedAsync().ConfigureAwait(false);
    }
}
