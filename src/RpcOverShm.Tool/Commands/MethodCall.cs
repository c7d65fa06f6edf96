using System.Text.Json;
using Google.Protobuf.Reflection;
using Grpc.Core;
using RpcOverShm.Tool.Json;
using RpcOverShm.Tool.Output;
using RpcOverShm.Tool.Reflection;

namespace RpcOverShm.Tool.Commands;

/// <summary>One call of a method of any shape. An answer is written as soon as it comes.</summary>
internal sealed class MethodCall(
    CallInvoker invoker, MethodDescriptor method, MessageCodec codec, ToolConsole console)
{
    private static readonly Marshaller<byte[]> s_bytes = Marshallers.Create<byte[]>(bytes => bytes, bytes => bytes);

    /// <summary>Whether a single answer is one line, too.</summary>
    public bool IsJson { get; init; }

    /// <summary>Whether headers and trailers are shown.</summary>
    public bool IsVerbose { get; init; }

    /// <summary>Makes the call.</summary>
    /// <exception cref="RpcException">The call failed.</exception>
    /// <exception cref="JsonInputException">A request does not fit.</exception>
    /// <exception cref="ToolException">There are too few or too many requests.</exception>
    public Task RunAsync(JsonMessages requests, CallOptions options) =>
        (method.IsClientStreaming, method.IsServerStreaming) switch
        {
            (false, false) => CallUnaryAsync(requests, options),
            (false, true) => CallServerStreamAsync(requests, options),
            (true, false) => CallClientStreamAsync(requests, options),
            (true, true) => CallDuplexAsync(requests, options),
        };

    private async Task CallUnaryAsync(JsonMessages requests, CallOptions options)
    {
        byte[] request = await ReadSingleAsync(requests, options.CancellationToken).ConfigureAwait(false);
        using AsyncUnaryCall<byte[]> call = invoker.AsyncUnaryCall(Raw(MethodType.Unary), null, options, request);
        await ShowHeadersAsync(call.ResponseHeadersAsync).ConfigureAwait(false);
        byte[] response = await call.ResponseAsync.ConfigureAwait(false);
        await ShowAsync(response, isIndented: !IsJson).ConfigureAwait(false);
        ShowTrailers(call.GetTrailers);
    }

    private async Task CallServerStreamAsync(JsonMessages requests, CallOptions options)
    {
        byte[] request = await ReadSingleAsync(requests, options.CancellationToken).ConfigureAwait(false);
        using AsyncServerStreamingCall<byte[]> call = invoker.AsyncServerStreamingCall(
            Raw(MethodType.ServerStreaming), null, options, request);
        await ReceiveAsync(call.ResponseHeadersAsync, call.ResponseStream).ConfigureAwait(false);
        ShowTrailers(call.GetTrailers);
    }

    private async Task CallClientStreamAsync(JsonMessages requests, CallOptions options)
    {
        using AsyncClientStreamingCall<byte[], byte[]> call = invoker.AsyncClientStreamingCall(
            Raw(MethodType.ClientStreaming), null, options);
        Task<byte[]> response = call.ResponseAsync;
        await SendUntilAsync(requests, call.RequestStream, response, options.CancellationToken).ConfigureAwait(false);
        byte[] bytes = await response.ConfigureAwait(false);
        await ShowHeadersAsync(call.ResponseHeadersAsync).ConfigureAwait(false);
        await ShowAsync(bytes, isIndented: !IsJson).ConfigureAwait(false);
        ShowTrailers(call.GetTrailers);
    }

    private async Task CallDuplexAsync(JsonMessages requests, CallOptions options)
    {
        using AsyncDuplexStreamingCall<byte[], byte[]> call = invoker.AsyncDuplexStreamingCall(
            Raw(MethodType.DuplexStreaming), null, options);
        Task receiving = ReceiveAsync(call.ResponseHeadersAsync, call.ResponseStream);
        await SendUntilAsync(requests, call.RequestStream, receiving, options.CancellationToken).ConfigureAwait(false);
        await receiving.ConfigureAwait(false);
        ShowTrailers(call.GetTrailers);
    }

    private Method<byte[], byte[]> Raw(MethodType type) =>
        new(type, method.Service.FullName, method.Name, s_bytes, s_bytes);

    private async Task<byte[]> ReadSingleAsync(JsonMessages requests, CancellationToken cancellationToken)
    {
        JsonElement request = await requests.ReadAsync(cancellationToken).ConfigureAwait(false)
            ?? throw new ToolException(
                ExitCode.BadInput, $"{method.FullName} takes one message and got none; {{}} is an empty one.");
        byte[] bytes = await codec.EncodeAsync(request, method.InputType).ConfigureAwait(false);
        return await requests.ReadAsync(cancellationToken).ConfigureAwait(false) is null
            ? bytes
            : throw new ToolException(
                ExitCode.BadInput, $"{method.FullName} takes one message and got more; it is no stream of requests.");
    }

    // The server may end the call while the user still types: then nobody waits for the rest of the input.
    private async Task SendUntilAsync(
        JsonMessages requests,
        IClientStreamWriter<byte[]> stream,
        Task end,
        CancellationToken cancellationToken)
    {
        Task sending = SendAsync(requests, stream, end, cancellationToken);
        if (await Task.WhenAny(sending, end).ConfigureAwait(false) == sending)
        {
            await sending.ConfigureAwait(false);
        }
    }

    private async Task SendAsync(
        JsonMessages requests, IClientStreamWriter<byte[]> stream, Task end, CancellationToken cancellationToken)
    {
        while (await requests.ReadAsync(cancellationToken).ConfigureAwait(false) is { } json && !end.IsCompleted)
        {
            byte[] request = await codec.EncodeAsync(json, method.InputType).ConfigureAwait(false);
            if (!await TryAsync(stream.WriteAsync(request, CancellationToken.None)).ConfigureAwait(false))
            {
                return;
            }
        }

        await TryAsync(stream.CompleteAsync()).ConfigureAwait(false);
    }

    // A call that has ended takes no more; its end says why.
    private static async Task<bool> TryAsync(Task step)
    {
        try
        {
            await step.ConfigureAwait(false);
            return true;
        }
        catch (Exception exception) when (exception is RpcException or InvalidOperationException)
        {
            return false;
        }
    }

    private async Task ReceiveAsync(Task<Metadata> headers, IAsyncStreamReader<byte[]> responses)
    {
        await ShowHeadersAsync(headers).ConfigureAwait(false);
        while (await responses.MoveNext(CancellationToken.None).ConfigureAwait(false))
        {
            await ShowAsync(responses.Current, isIndented: false).ConfigureAwait(false);
        }
    }

    private async Task ShowAsync(byte[] response, bool isIndented) => console.WriteLine(
        await codec.DecodeAsync(response, method.OutputType, isIndented).ConfigureAwait(false));

    private async Task ShowHeadersAsync(Task<Metadata> headers)
    {
        if (IsVerbose)
        {
            Show("header", await headers.ConfigureAwait(false));
        }
    }

    private void ShowTrailers(Func<Metadata> trailers)
    {
        if (IsVerbose)
        {
            Show("trailer", trailers());
        }
    }

    private void Show(string kind, Metadata metadata)
    {
        foreach (Metadata.Entry entry in metadata)
        {
            console.WriteNote($"{kind}: {CallMetadata.Describe(entry)}");
        }
    }
}
