using Grpc.Core.Interceptors;
using Microsoft.Extensions.Logging;

namespace RpcOverShm.Samples;

/// <summary>The code of docs/debugging.md.</summary>
internal static class Debugging
{
    public static async Task RunAsync(string address)
    {
        // snippet: logging
        using ILoggerFactory loggers = LoggerFactory.Create(logging => logging
            .AddSimpleConsole(console => console.SingleLine = true)
            .AddFilter("RpcOverShm", LogLevel.Debug));
        var serverOptions = new ShmServerOptions { LoggerFactory = loggers };
        var channelOptions = new ShmChannelOptions { LoggerFactory = loggers };
        // end snippet

        // snippet: detailed-errors
        serverOptions.EnableDetailedErrors = true;
        serverOptions.Interceptors.Add(new MessageLog(loggers.CreateLogger<MessageLog>()));
        // end snippet
        await using var server = new ShmServer(address, serverOptions);
        server.Services.Add(Greeter.BindService(new FailingGreeter()));
        await server.StartAsync();

        using ShmChannel channel = ShmChannel.ForAddress(address, channelOptions);
        var client = new Greeter.GreeterClient(channel);
        Expect.Equal("Hello x", (await client.SayHelloAsync(new HelloRequest { Name = "x" })).Message);
        Expect.Equal("Exception was thrown by handler. FormatException: No name.", await FailureAsync(client));
    }

    private static async Task<string> FailureAsync(Greeter.GreeterClient client)
    {
        try
        {
            return (await client.SayHelloAsync(new HelloRequest())).Message;
        }
        catch (RpcException failure)
        {
            return failure.Status.Detail;
        }
    }

    // snippet: messages
    /// <summary>Logs the request and the answer of a method: the text of a Protobuf message is JSON.</summary>
    private sealed class MessageLog(ILogger<MessageLog> log) : Interceptor
    {
        public override async Task<TResponse> UnaryServerHandler<TRequest, TResponse>(
            TRequest request, ServerCallContext context, UnaryServerMethod<TRequest, TResponse> continuation)
        {
            TResponse response = await continuation(request, context);
            log.LogInformation("{Method} {Request} answered {Response}", context.Method, request, response);
            return response;
        }
    }
    // end snippet

    private sealed class FailingGreeter : Greeter.GreeterBase
    {
        public override Task<HelloReply> SayHello(HelloRequest request, ServerCallContext context) =>
            request.Name.Length > 0
                ? Task.FromResult(new HelloReply { Message = $"Hello {request.Name}" })
                : throw new FormatException("No name.");
    }
}
