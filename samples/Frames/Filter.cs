using Grpc.Core;

namespace RpcOverShm.Samples;

/// <summary>A stage of the pipeline: it receives frames.</summary>
internal interface IStage : IDisposable
{
    Task<ShmPayload> ShowAsync(ShmPayload frame, ServerCallContext context);
}

/// <summary>The second stage: it turns each frame into its negative and sends that to the display.</summary>
internal sealed class Filter(string next, bool lends) : IStage
{
    private readonly ShmChannel _display = ShmChannel.ForAddress(next, Stages.Options(lends));

    public async Task<ShmPayload> ShowAsync(ShmPayload frame, ServerCallContext context)
    {
        // snippet: pass-on
        using ShmPayload received = frame; // also if the display is gone

        // Connected at the first frame, and at once from then on: what is rented before is copied.
        await _display.ConnectAsync(context.CancellationToken);
        using ShmPayload negative = _display.RentPayload((int)frame.Length);
        Frame.Invert(frame.Bytes, negative.Memory.Span);
        received.Dispose(); // The camera can use its memory again, before the display has answered.

        CallOptions options = Stages.Numbered(Stages.NumberOf(context));
        return await _display.CreateCallInvoker().AsyncUnaryCall(Stages.Show, null, options, negative);
        // end snippet
    }

    public void Dispose() => _display.Dispose();
}

/// <summary>The third stage: it checks every byte.</summary>
internal sealed class Display : IStage
{
    public Task<ShmPayload> ShowAsync(ShmPayload frame, ServerCallContext context)
    {
        using (frame)
        {
            Frame.Check(frame.Bytes, Stages.NumberOf(context));
        }

        return Task.FromResult(ShmPayload.Wrap(ReadOnlyMemory<byte>.Empty));
    }

    public void Dispose()
    {
    }
}
