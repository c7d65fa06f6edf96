using Microsoft.Extensions.Logging;
using NUnit.Framework;
#if (codeFirst)
using ProtoBuf.Grpc;
using ProtoBuf.Grpc.Client;
#endif
using RpcOverShm;
#if (isMessagePack)
using RpcOverShm.MessagePack;
#endif
using RpcShmNamespace.Server;

namespace RpcShmNamespace.Tests;

public class GreeterTests
{
    [Test]
    public async Task SayHello_OverSharedMemory_GreetsByName()
    {
        using ILoggerFactory loggers = LoggerFactory.Create(logging => logging.AddConsole());
        var serverOptions = new ShmServerOptions { LoggerFactory = loggers, EnableDetailedErrors = true };
        var channelOptions = new ShmChannelOptions { LoggerFactory = loggers };
#if (isMessagePack)
        serverOptions.Codecs.Add(ShmMessagePackCodec.Instance);
        channelOptions.Codec = ShmMessagePackCodec.Instance;
#endif

        // Each test has an address of its own, so tests may run at the same time.
        await using var server = new ShmServer($"shm://test-{Guid.NewGuid():N}", serverOptions);
#if (codeFirst)
        server.Services.AddCodeFirst(new GreeterService());
#else
        server.Services.Add(Greeter.BindService(new GreeterService()));
#endif
        await server.StartAsync();

        using ShmChannel channel = ShmChannel.ForAddress(server.Address, channelOptions);
#if (codeFirst)
        IGreeter client = channel.CreateGrpcService<IGreeter>();
#else
        var client = new Greeter.GreeterClient(channel);
#endif
        HelloReply reply = await client.SayHelloAsync(new HelloRequest { Name = "world" });

        Assert.That(reply.Message, Is.EqualTo("Hello world"));
    }
}
