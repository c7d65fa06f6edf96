using System.Buffers;
using RpcOverShm.FunctionalTests.Protos;

namespace RpcOverShm.FunctionalTests.Loans;

/// <summary>A generated service whose messages have a payload. It disposes those of requests.</summary>
internal sealed class FrameService(Func<ShmPayload, bool> isShared) : Frames.FramesBase
{
    /// <summary>Whether the payload of the last request lay in the client's memory.</summary>
    public bool WasRequestLent { get; private set; }

    public override Task<Frame> Unary(Frame request, ServerCallContext context) =>
        Task.FromResult(AnswerTo(request, context));

    public override async Task<Frame> ClientStreaming(
        IAsyncStreamReader<Frame> requestStream, ServerCallContext context)
    {
        Frame? last = null;
        while (await requestStream.MoveNext(CancellationToken.None))
        {
            last?.Payload?.Dispose();
            last = requestStream.Current;
        }

        return AnswerTo(last!, context);
    }

    public override Task ServerStreaming(
        Frame request, IServerStreamWriter<Frame> responseStream, ServerCallContext context) =>
        AnswerAsync(request, responseStream, context);

    public override async Task DuplexStreaming(
        IAsyncStreamReader<Frame> requestStream,
        IServerStreamWriter<Frame> responseStream,
        ServerCallContext context)
    {
        while (await requestStream.MoveNext(CancellationToken.None))
        {
            await AnswerAsync(requestStream.Current, responseStream, context);
        }
    }

    private async Task AnswerAsync(Frame request, IServerStreamWriter<Frame> responses, ServerCallContext context)
    {
        Frame response = AnswerTo(request, context);
        await responses.WriteAsync(response);
        response.Payload?.Dispose();
    }

    private Frame AnswerTo(Frame request, ServerCallContext context)
    {
        Assert.That(request.Data.IsEmpty, "The bytes are in the payload.");
        var response = new Frame { Width = request.Width + 1, Label = request.Label };
        if (request.Payload is { Length: > 0 } payload)
        {
            WasRequestLent = isShared(payload);
            response.Payload = context.RentPayload((int)payload.Length);
            payload.Bytes.CopyTo(response.Payload.Memory.Span);
        }
        else if (request.Payload is not null)
        {
            response.Payload = ShmPayload.Wrap(default(ReadOnlyMemory<byte>));
        }

        request.Payload?.Dispose();
        return response;
    }
}
