using Grpc.Core;

namespace RpcOverShm.Samples;

/// <summary>Makes calls of every shape with raw bytes in pooled memory.</summary>
internal sealed class RawCalls
{
    public const int SmallBytes = 100;

    private const int LargeBytes = 1 << 20;

    private readonly CallInvoker _invoker;
    private readonly byte[] _large = new byte[LargeBytes];
    private readonly ShmPayload _small = ShmPayload.Wrap(new byte[SmallBytes]);

    public RawCalls(ShmChannel channel)
    {
        _invoker = channel.CreateCallInvoker();
        new Random(2).NextBytes(_large);
    }

    public async Task ShowAsync(Report report, string codec)
    {
        await report.ShowUnaryAsync(
            codec, "blocking, 100 B", () => Task.FromResult(Small()), length => $"{length} bytes");
        await report.ShowUnaryAsync(codec, "async, 100 B", SmallAsync, length => $"{length} bytes");
        await report.ShowAsync(codec, "blocking, 1 MiB", () => Task.FromResult(Unary()), 1);
        await report.ShowAsync(codec, "async, 1 MiB", UnaryAsync, 1);
        await report.ShowAsync(codec, "server stream", ServerStreamAsync, 10);
        await report.ShowAsync(codec, "client stream", ClientStreamAsync, 21);
        await report.ShowAsync(codec, "duplex stream", DuplexAsync, 10);
    }

    private long Small()
    {
        using ShmPayload response = _invoker.BlockingUnaryCall(RawService.Unary, null, default, _small);
        return response.Length;
    }

    private async Task<long> SmallAsync()
    {
        using ShmPayload response = await _invoker.AsyncUnaryCall(RawService.Unary, null, default, _small);
        return response.Length;
    }

    private string Unary()
    {
        using ShmPayload request = ShmPayload.Wrap(_large);
        using ShmPayload response = _invoker.BlockingUnaryCall(RawService.Unary, null, default, request);
        return Describe(response);
    }

    private async Task<string> UnaryAsync()
    {
        using ShmPayload request = ShmPayload.Wrap(_large);
        using ShmPayload response = await _invoker.AsyncUnaryCall(RawService.Unary, null, default, request);
        return Describe(response);
    }

    private async Task<string> ServerStreamAsync()
    {
        using ShmPayload request = ShmPayload.Wrap(_large);
        using AsyncServerStreamingCall<ShmPayload> call =
            _invoker.AsyncServerStreamingCall(RawService.ServerStream, null, default, request);
        int count = 0;
        while (await call.ResponseStream.MoveNext(CancellationToken.None))
        {
            using ShmPayload response = call.ResponseStream.Current;
            Describe(response);
            count++;
        }

        Report.Require(count == 10, $"{count} messages where 10 were expected");
        return $"{count} x {LargeBytes:N0} bytes, all equal";
    }

    private async Task<string> ClientStreamAsync()
    {
        using AsyncClientStreamingCall<ShmPayload, ShmPayload> call =
            _invoker.AsyncClientStreamingCall(RawService.ClientStream, null, default);
        for (int length = LargeBytes; length > 0; length /= 2)
        {
            using ShmPayload message = ShmPayload.Wrap(_large.AsMemory(0, length));
            await call.RequestStream.WriteAsync(message);
        }

        await call.RequestStream.CompleteAsync();
        using ShmPayload longest = await call;
        return "the longest of 21: " + Describe(longest);
    }

    private async Task<string> DuplexAsync()
    {
        using AsyncDuplexStreamingCall<ShmPayload, ShmPayload> call =
            _invoker.AsyncDuplexStreamingCall(RawService.Duplex, null, default);
        for (int i = 0; i < 10; i++)
        {
            using ShmPayload message = ShmPayload.Wrap(_large);
            await call.RequestStream.WriteAsync(message);
            Report.Require(await call.ResponseStream.MoveNext(CancellationToken.None), "the stream ended early");
            using ShmPayload echo = call.ResponseStream.Current;
            Describe(echo);
        }

        await call.RequestStream.CompleteAsync();
        Report.Require(!await call.ResponseStream.MoveNext(CancellationToken.None), "more messages than were sent");
        return $"10 x {LargeBytes:N0} bytes there and back, all equal";
    }

    private string Describe(ShmPayload payload)
    {
        Report.Require(payload.Length == LargeBytes, $"{payload.Length} bytes where {LargeBytes} were expected");
        int at = 0;
        foreach (ReadOnlyMemory<byte> memory in payload.Bytes)
        {
            Report.Require(_large.AsSpan(at, memory.Length).SequenceEqual(memory.Span), "bytes were changed");
            at += memory.Length;
        }

        return $"{payload.Length:N0} bytes, all equal";
    }
}
