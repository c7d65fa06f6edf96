using Google.Protobuf;
using Google.Protobuf.WellKnownTypes;
using Google.Rpc;
using Grpc.Core.Interceptors;
using Microsoft.Extensions.Logging;
using Microsoft.Extensions.Logging.Abstractions;

namespace RpcOverShm.Samples;

/// <summary>The code of docs/migrating-from-wcf.md: contracts, headers, faults, time-outs and limits.</summary>
internal static class MigratingFromWcfCalls
{
    public static async Task RunAsync(string address)
    {
        ILoggerFactory loggers = NullLoggerFactory.Instance;

        // snippet: limits
        var options = new ShmServerOptions
        {
            LoggerFactory = loggers,
            Limits =
            {
                MaxConcurrentCalls = 16 * Environment.ProcessorCount,
                MaxQueuedCallsPerConnection = 1_000,
                MaxMetadataSize = 16 * 1024,
            },
            Listen = { MaxConnections = 100, HandshakeTimeout = TimeSpan.FromSeconds(30) },
            MaxReceiveMessageSize = 64 * 1024,
        };
        // end snippet
        await using var server = new ShmServer(address, options);
        server.Services.Add(Greeter.BindService(new HeaderService()));
        await server.StartAsync();
        await ClientAsync(address);
        await StopAsync(server);
        Expect.Equal(true, server.Stopping.IsCancellationRequested);
    }

    private static async Task ClientAsync(string address)
    {
        // snippet: open
        var options = new ShmChannelOptions { Connect = { Timeout = TimeSpan.FromSeconds(60) } };
        using ShmChannel channel = ShmChannel.ForAddress(address, options);
        var client = new Greeter.GreeterClient(channel);

        // Optional: a call connects by itself. This waits until a server listens.
        await channel.ConnectAsync();
        // end snippet
        Headers(client);
        await FaultAsync(client);
        TimeOut(client);
        Inspect(channel);

        // snippet: sync-and-async
        HelloReply blocking = client.SayHello(new HelloRequest { Name = "blocking" });
        HelloReply awaited = await client.SayHelloAsync(new HelloRequest { Name = "awaited" });
        // end snippet
        Expect.Equal("Hello blocking", blocking.Message);
        Expect.Equal("Hello awaited", awaited.Message);
    }

    private static void Headers(Greeter.GreeterClient client)
    {
        // snippet: headers-client
        // WCF: OperationContext.Current.OutgoingMessageHeaders.Add(...)
        var headers = new Metadata
        {
            { "tenant", "acme" },
            { "order-bin", new HelloRequest { Name = "typed" }.ToByteArray() },
        };
        HelloReply reply = client.SayHello(new HelloRequest { Name = "headers" }, headers);
        // end snippet
        Expect.Equal("acme, typed", reply.Message);
    }

    private static async Task FaultAsync(Greeter.GreeterClient client)
    {
        string fault = "";

        // snippet: fault-client
        try
        {
            await client.SayHelloAsync(new HelloRequest { Name = "" });
        }
        catch (RpcException exception) when (exception.GetRpcStatus()?.GetDetail<BadRequest>() is { } detail)
        {
            // WCF: catch (FaultException<BadRequest> fault) { ... fault.Detail ... }
            fault = $"{exception.StatusCode}: {detail.FieldViolations[0].Description}";
        }
        // end snippet

        Expect.Equal("InvalidArgument: It is empty.", fault);
    }

    private static void TimeOut(Greeter.GreeterClient client)
    {
        StatusCode code = StatusCode.OK;

        // snippet: send-timeout
        try
        {
            // WCF: binding.SendTimeout. The server gets the deadline too, and its token fires.
            client.SayHello(new HelloRequest { Name = "slow" }, deadline: DateTime.UtcNow.AddMilliseconds(50));
        }
        catch (RpcException exception) when (exception.StatusCode == StatusCode.DeadlineExceeded)
        {
            code = exception.StatusCode;
        }
        // end snippet

        Expect.Equal(StatusCode.DeadlineExceeded, code);
    }

    private static void Inspect(ShmChannel channel)
    {
        // snippet: client-inspector
        var client = new Greeter.GreeterClient(channel.Intercept(new TenantInterceptor("acme")));
        // end snippet
        Expect.Equal("acme, none", client.SayHello(new HelloRequest { Name = "headers" }).Message);
    }

    private static async Task StopAsync(ShmServer server)
    {
        // snippet: stop
        // WCF: host.Close(timeout), and host.Abort() when the time is over. A grace of zero cancels calls at once.
        await server.StopAsync(grace: TimeSpan.FromSeconds(5));
        // end snippet
    }

    private sealed class HeaderService : Greeter.GreeterBase
    {
        public override Task<HelloReply> SayHello(HelloRequest request, ServerCallContext context) =>
            request.Name switch
            {
                "" => throw Fault(),
                "headers" => AnswerAsync(context),
                _ => new SnippetService().SayHello(request, context),
            };

        private static async Task<HelloReply> AnswerAsync(ServerCallContext context)
        {
            // snippet: headers-server
            // WCF: OperationContext.Current.IncomingMessageHeaders.GetHeader<T>(...)
            string tenant = context.RequestHeaders.GetValue("tenant") ?? "none";
            HelloRequest? typed = context.RequestHeaders.GetValueBytes("order-bin") is { } bytes
                ? HelloRequest.Parser.ParseFrom(bytes)
                : null;

            // WCF: OutgoingMessageHeaders of the reply. Trailers are sent with the status, after the messages.
            await context.WriteResponseHeadersAsync(new Metadata { { "served-by", "node-1" } });
            context.ResponseTrailers.Add("cost", "3");
            // end snippet
            return new HelloReply { Message = $"{tenant}, {typed?.Name ?? "none"}" };
        }

        private static RpcException Fault()
        {
            // snippet: fault-server
            // WCF: throw new FaultException<BadRequest>(detail, "Nobody to greet.");
            var violation = new BadRequest.Types.FieldViolation { Field = "name", Description = "It is empty." };
            return new Google.Rpc.Status
            {
                Code = (int)Code.InvalidArgument,
                Message = "Nobody to greet.",
                Details = { Any.Pack(new BadRequest { FieldViolations = { violation } }) },
            }.ToRpcException();
            // end snippet
        }
    }

    // snippet: inspector
    /// <summary>WCF: an IClientMessageInspector that adds a header to each message.</summary>
    private sealed class TenantInterceptor(string tenant) : Interceptor
    {
        public override TResponse BlockingUnaryCall<TRequest, TResponse>(
            TRequest request,
            ClientInterceptorContext<TRequest, TResponse> context,
            BlockingUnaryCallContinuation<TRequest, TResponse> continuation)
        {
            var headers = new Metadata { { "tenant", tenant } };
            return continuation(request, new ClientInterceptorContext<TRequest, TResponse>(
                context.Method, context.Host, context.Options.WithHeaders(headers)));
        }
    }
    // end snippet
}
