using Google.Protobuf;
using Grpc.Core;
using RpcOverShm.Testing.Protos;

namespace RpcOverShm.Testing;

/// <summary>
/// The service that the tests, the test peer and the performance suite call: every call shape and every way to fail.
/// </summary>
public sealed class ConformanceService : Conformance.ConformanceBase
{
    public override Task<Payload> Echo(Payload request, ServerCallContext context) => Task.FromResult(request);

    public override async Task<Number> Sum(IAsyncStreamReader<Number> requestStream, ServerCallContext context)
    {
        long sum = 0;
        while (await requestStream.MoveNext(CancellationToken.None))
        {
            sum += requestStream.Current.Value;
        }

        return new Number { Value = sum };
    }

    public override async Task Count(
        CountRequest request, IServerStreamWriter<Number> responseStream, ServerCallContext context)
    {
        for (long i = 0; i < request.Count; i++)
        {
            if (request.PauseMilliseconds > 0)
            {
                await Task.Delay(request.PauseMilliseconds, context.CancellationToken);
            }

            await responseStream.WriteAsync(new Number { Value = i });
        }
    }

    public override async Task EchoAll(
        IAsyncStreamReader<Payload> requestStream, IServerStreamWriter<Payload> responseStream,
        ServerCallContext context)
    {
        while (await requestStream.MoveNext(CancellationToken.None))
        {
            await responseStream.WriteAsync(requestStream.Current);
        }
    }

    public override Task<Payload> Fail(FailRequest request, ServerCallContext context)
    {
        var trailers = new Grpc.Core.Metadata();
        foreach (MetadataEntry entry in request.Trailers)
        {
            trailers.Add(ToEntry(entry));
        }

        throw new RpcException(new Status((StatusCode)request.StatusCode, request.Detail), trailers);
    }

    public override Task<Payload> Throw(Payload request, ServerCallContext context) =>
        throw new InvalidOperationException(request.Data.ToStringUtf8());

    public override async Task<Payload> Delay(DelayRequest request, ServerCallContext context)
    {
        CancellationToken token = request.IgnoreCancellation ? CancellationToken.None : context.CancellationToken;
        await Task.Delay(request.Milliseconds, token);
        return new Payload();
    }

    public override async Task<Protos.Metadata> EchoMetadata(Payload request, ServerCallContext context)
    {
        var headers = new Grpc.Core.Metadata();
        var reply = new Protos.Metadata();
        foreach (Grpc.Core.Metadata.Entry entry in context.RequestHeaders)
        {
            headers.Add(entry);
            context.ResponseTrailers.Add(entry);
            reply.Entries.Add(FromEntry(entry));
        }

        await context.WriteResponseHeadersAsync(headers);
        return reply;
    }

    public override async Task Pump(
        PumpRequest request, IServerStreamWriter<Payload> responseStream, ServerCallContext context)
    {
        var pattern = new BytePattern(request.Seed);
        byte[] bytes = new byte[request.MessageBytes];
        for (long i = 0; i < request.Messages; i++)
        {
            pattern.Fill(bytes);
            await responseStream.WriteAsync(new Payload { Data = UnsafeByteOperations.UnsafeWrap(bytes) });
        }
    }

    public override async Task<DrainReply> Drain(IAsyncStreamReader<Payload> requestStream, ServerCallContext context)
    {
        var reply = new DrainReply();
        var pattern = new BytePattern(0);
        while (await requestStream.MoveNext(CancellationToken.None))
        {
            ReadOnlySpan<byte> data = requestStream.Current.Data.Span;
            reply.Messages++;
            reply.Bytes += data.Length;
            reply.WrongBytes += pattern.CountWrong(data);
        }

        return reply;
    }

    private static Grpc.Core.Metadata.Entry ToEntry(MetadataEntry entry) =>
        entry.Key.EndsWith(Grpc.Core.Metadata.BinaryHeaderSuffix, StringComparison.Ordinal)
            ? new Grpc.Core.Metadata.Entry(entry.Key, entry.Binary.ToByteArray())
            : new Grpc.Core.Metadata.Entry(entry.Key, entry.Text);

    private static MetadataEntry FromEntry(Grpc.Core.Metadata.Entry entry) => entry.IsBinary
        ? new MetadataEntry { Key = entry.Key, Binary = ByteString.CopyFrom(entry.ValueBytes) }
        : new MetadataEntry { Key = entry.Key, Text = entry.Value };
}
