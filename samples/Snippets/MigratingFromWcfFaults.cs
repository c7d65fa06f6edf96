using Google.Rpc;
using Grpc.Core.Interceptors;
using Microsoft.Extensions.Logging;
using Microsoft.Extensions.Logging.Abstractions;
using RpcOverShm.Protobuf;

namespace RpcOverShm.Samples;

/// <summary>The code of docs/migrating-from-wcf.md: mapped exceptions, typed headers, message inspectors.</summary>
internal static class MigratingFromWcfFaults
{
    public static async Task RunAsync(string address)
    {
        var sizes = new SizeInspector();
        ILoggerFactory loggers = NullLoggerFactory.Instance;

        // snippet: faults-server
        // WCF: [FaultContract(typeof(BadRequest))]. One map for both sides; ShmFaultException<T> needs no entry here.
        ShmFaults faults = new ShmFaultsBuilder()
            .Add<KeyNotFoundException, ResourceInfo>(
                StatusCode.NotFound, exception => new ResourceInfo { ResourceName = exception.Message })
            .AddDetail<BadRequest>()
            .Build();
        var options = new ShmServerOptions
        {
            LoggerFactory = loggers,
            Interceptors = { new ShmFaultServerInterceptor(faults) },
            MessageInspectors = { sizes },
        };
        // end snippet
        await using var server = new ShmServer(address, options);
        server.Services.Add(Greeter.BindService(new FaultyGreeter()));
        await server.StartAsync();
        using ShmChannel channel = ShmChannel.ForAddress(address);

        // snippet: faults-client
        var client = new Greeter.GreeterClient(channel.Intercept(new ShmFaultClientInterceptor(faults)));
        // end snippet
        Call(client);
        Expect.Equal(true, sizes.Bytes > 0);
    }

    private static void Call(Greeter.GreeterClient client)
    {
        string fault = "";

        // snippet: faults-catch
        try
        {
            client.SayHello(new HelloRequest { Name = "" });
        }
        catch (ShmFaultException<BadRequest> exception)
        {
            // WCF: catch (FaultException<BadRequest> exception)
            fault = exception.Detail.FieldViolations[0].Description;
        }
        // end snippet

        Expect.Equal("It is empty.", fault);

        // snippet: typed-header-client
        // WCF: MessageHeader.CreateHeader("caller", ns, value)
        var headers = new Metadata();
        headers.AddMessage("caller-bin", new HelloRequest { Name = "typed" });
        HelloReply reply = client.SayHello(new HelloRequest { Name = "header" }, headers);
        // end snippet
        Expect.Equal("Hello typed", reply.Message);
    }

    private sealed class FaultyGreeter : Greeter.GreeterBase
    {
        public override Task<HelloReply> SayHello(HelloRequest request, ServerCallContext context)
        {
            if (request.Name.Length == 0)
            {
                // snippet: faults-throw
                // WCF: throw new FaultException<BadRequest>(detail)
                var violation = new BadRequest.Types.FieldViolation { Field = "name", Description = "It is empty." };
                throw new ShmFaultException<BadRequest>(
                    StatusCode.InvalidArgument, new BadRequest { FieldViolations = { violation } }, "Nobody to greet.");
                // end snippet
            }

            // snippet: typed-header-server
            // WCF: IncomingMessageHeaders.GetHeader<T>("caller", ns)
            bool isTyped = context.RequestHeaders.TryGetMessage("caller-bin", out HelloRequest? caller);
            // end snippet
            return Task.FromResult(new HelloReply { Message = $"Hello {(isTyped ? caller!.Name : "unknown")}" });
        }
    }

    // snippet: message-inspector
    /// <summary>WCF: an IDispatchMessageInspector. It sees the bytes of each message before they are parsed.</summary>
    private sealed class SizeInspector : ShmMessageInspector
    {
        private long _bytes;

        public long Bytes => Interlocked.Read(ref _bytes);

        public override void OnRequest(in ShmInspectedMessage message) =>
            Interlocked.Add(ref _bytes, message.Payload.Length);
    }
    // end snippet
}
