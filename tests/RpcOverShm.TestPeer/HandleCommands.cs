using System.Collections.Concurrent;
using System.IO.Pipes;
using System.Runtime.InteropServices;
using Grpc.Core;
using Microsoft.Win32.SafeHandles;

namespace RpcOverShm.TestPeer;

/// <summary>The commands of a client and of a server whose calls carry handles.</summary>
internal sealed class HandleCommands : IAsyncDisposable
{
    private static readonly Method<string, string> s_method = new(
        MethodType.Unary, "test.Handles", "Unary", Marshallers.StringMarshaller, Marshallers.StringMarshaller);

    private readonly ConcurrentQueue<SafeHandle> _held = new();
    private ShmChannel? _channel;

    /// <summary>
    /// The service: it sends back what comes with "back", keeps what comes with "keep" and waits, and leaves all other
    /// handles to the server.
    /// </summary>
    public ServerServiceDefinition Build() =>
        ServerServiceDefinition.CreateBuilder().AddMethod(s_method, AnswerAsync).Build();

    /// <summary>Opens a channel that allows handles.</summary>
    public async Task<string> OpenAsync(string address, string? directory)
    {
        _channel = ShmChannel.ForAddress(
            address,
            new ShmChannelOptions { Connect = { RuntimeDirectory = directory }, Handles = { AllowHandles = true } });
        await _channel.ConnectAsync();
        return "";
    }

    /// <summary>Begins calls with a pipe each, and keeps the pipes. Does not wait for the answers.</summary>
    public Task<string> BeginAsync(int calls, string request)
    {
        for (int i = 0; i < calls; i++)
        {
            using var pipe = new AnonymousPipeServerStream(PipeDirection.Out);
            _held.Enqueue(pipe.ClientSafePipeHandle);
            CallOptions options = default(CallOptions).WithHandles(pipe.ClientSafePipeHandle);
            _ = _channel!.CreateCallInvoker().AsyncUnaryCall(s_method, null, options, request);
        }

        return Task.FromResult("");
    }

    public async ValueTask DisposeAsync()
    {
        await (_channel?.ShutdownAsync() ?? Task.CompletedTask);
        while (_held.TryDequeue(out SafeHandle? handle))
        {
            handle.Dispose();
        }
    }

    private async Task<string> AnswerAsync(string request, ServerCallContext context)
    {
        if (request is not ("back" or "keep"))
        {
            return request;
        }

        SafeFileHandle[] handles = await context.TakeHandlesAsync();
        if (request == "keep")
        {
            Array.ForEach(handles, _held.Enqueue);
            PeerCommands.Emit($"kept {handles.Length}");
            await Task.Delay(Timeout.Infinite, context.CancellationToken);
        }

        context.SendHandles(handles);
        Array.ForEach(handles, static handle => handle.Dispose());
        return request;
    }
}
