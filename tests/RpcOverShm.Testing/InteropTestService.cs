using Google.Protobuf;
using Grpc.Core;
using Grpc.Testing;

namespace RpcOverShm.Testing;

/// <summary>
/// The server of gRPC's interop cases, as doc/interop-test-descriptions.md of grpc/grpc describes it. Two methods are
/// not overridden: UnimplementedCall, which must stay unimplemented, and CacheableUnaryCall, which is about HTTP
/// proxies.
/// </summary>
public sealed class InteropTestService : TestService.TestServiceBase
{
    /// <summary>The key whose value the server returns as a response header.</summary>
    public const string EchoInitialKey = "x-grpc-test-echo-initial";

    /// <summary>The key whose value the server returns as a trailer.</summary>
    public const string EchoTrailingKey = "x-grpc-test-echo-trailing-bin";

    /// <summary>The key that selects the compression of the sender's messages; it is not sent.</summary>
    public const string SelectCompressionKey = "grpc-internal-encoding-request";

    /// <summary>
    /// Returns whether the most recently read request was compressed; null if the rig cannot see that, as with
    /// Grpc.Core's API. Then <c>expect_compressed</c> is not checked.
    /// </summary>
    public Func<ServerCallContext, bool?> IsLastRequestCompressed { get; init; } = static _ => null;

    public override Task<Empty> EmptyCall(Empty request, ServerCallContext context) => Task.FromResult(new Empty());

    public override async Task<SimpleResponse> UnaryCall(SimpleRequest request, ServerCallContext context)
    {
        await EchoMetadataAsync(context, selectsCompression: request.ResponseCompressed is not null);
        CheckCompression(request.ExpectCompressed, context);
        EndAsAsked(request.ResponseStatus);
        context.WriteOptions = OptionsFor(request.ResponseCompressed);
        return new SimpleResponse { Payload = Zeros(request.ResponseSize) };
    }

    public override async Task StreamingOutputCall(
        StreamingOutputCallRequest request,
        IServerStreamWriter<StreamingOutputCallResponse> responseStream,
        ServerCallContext context)
    {
        await EchoMetadataAsync(
            context, selectsCompression: request.ResponseParameters.Any(response => response.Compressed is not null));
        await AnswerAsync(request, responseStream, context);
    }

    public override async Task<StreamingInputCallResponse> StreamingInputCall(
        IAsyncStreamReader<StreamingInputCallRequest> requestStream, ServerCallContext context)
    {
        await EchoMetadataAsync(context, selectsCompression: false);
        int size = 0;
        while (await requestStream.MoveNext(CancellationToken.None))
        {
            CheckCompression(requestStream.Current.ExpectCompressed, context);
            size += requestStream.Current.Payload?.Body.Length ?? 0;
        }

        return new StreamingInputCallResponse { AggregatedPayloadSize = size };
    }

    public override async Task FullDuplexCall(
        IAsyncStreamReader<StreamingOutputCallRequest> requestStream,
        IServerStreamWriter<StreamingOutputCallResponse> responseStream,
        ServerCallContext context)
    {
        await EchoMetadataAsync(context, selectsCompression: false);
        while (await requestStream.MoveNext(CancellationToken.None))
        {
            await AnswerAsync(requestStream.Current, responseStream, context);
        }
    }

    public override async Task HalfDuplexCall(
        IAsyncStreamReader<StreamingOutputCallRequest> requestStream,
        IServerStreamWriter<StreamingOutputCallResponse> responseStream,
        ServerCallContext context)
    {
        await EchoMetadataAsync(context, selectsCompression: false);
        var requests = new List<StreamingOutputCallRequest>();
        while (await requestStream.MoveNext(CancellationToken.None))
        {
            requests.Add(requestStream.Current);
        }

        foreach (StreamingOutputCallRequest request in requests)
        {
            await AnswerAsync(request, responseStream, context);
        }
    }

    /// <summary>Returns the payload of zeros that the interop cases use.</summary>
    public static Payload Zeros(int bytes) => new() { Body = UnsafeByteOperations.UnsafeWrap(new byte[bytes]) };

    private static async Task AnswerAsync(
        StreamingOutputCallRequest request,
        IServerStreamWriter<StreamingOutputCallResponse> responses,
        ServerCallContext context)
    {
        EndAsAsked(request.ResponseStatus);
        foreach (ResponseParameters parameters in request.ResponseParameters)
        {
            if (parameters.IntervalUs > 0)
            {
                await Task.Delay(TimeSpan.FromMicroseconds(parameters.IntervalUs), context.CancellationToken);
            }

            responses.WriteOptions = OptionsFor(parameters.Compressed);
            await responses.WriteAsync(new StreamingOutputCallResponse { Payload = Zeros(parameters.Size) });
        }
    }

    private static Task EchoMetadataAsync(ServerCallContext context, bool selectsCompression)
    {
        var headers = new Metadata();
        if (context.RequestHeaders.GetValue(EchoInitialKey) is { } initial)
        {
            headers.Add(EchoInitialKey, initial);
        }

        if (context.RequestHeaders.GetValueBytes(EchoTrailingKey) is { } trailing)
        {
            context.ResponseTrailers.Add(EchoTrailingKey, trailing);
        }

        if (selectsCompression)
        {
            headers.Add(SelectCompressionKey, "gzip");
        }

        return headers.Count > 0 ? context.WriteResponseHeadersAsync(headers) : Task.CompletedTask;
    }

    private static void EndAsAsked(EchoStatus? status)
    {
        if (status is not null)
        {
            throw new RpcException(new Status((StatusCode)status.Code, status.Message));
        }
    }

    // If the call selects compression, a message that must not be compressed has to opt out.
    private static WriteOptions? OptionsFor(BoolValue? compressed) =>
        compressed is { Value: false } ? new WriteOptions(WriteFlags.NoCompress) : null;

    private void CheckCompression(BoolValue? expected, ServerCallContext context)
    {
        if (expected is not null && IsLastRequestCompressed(context) is { } isCompressed
            && isCompressed != expected.Value)
        {
            string found = isCompressed ? "is compressed" : "is not compressed";
            throw new RpcException(new Status(StatusCode.InvalidArgument, $"The request {found}."));
        }
    }
}
