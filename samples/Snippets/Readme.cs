using Microsoft.Extensions.DependencyInjection;
using Microsoft.Extensions.Hosting;

namespace RpcOverShm.Samples;

/// <summary>The code of README.md that is not that of the sample Greeter.</summary>
internal static class Readme
{
    public static async Task RunAsync(string address)
    {
        await using var server = new ShmServer(address);
        server.Services.Add(Greeter.BindService(new AskingGreeter()));
        await server.StartAsync();
        var options = new ShmChannelOptions();
        options.Callbacks.Services.Add(Greeter.BindService(new SnippetService()));
        using ShmChannel channel = ShmChannel.ForAddress(address, options);

        await BatchAsync(channel);

        // On Windows, the name of an account has that of its machine or domain before it.
        string domain = OperatingSystem.IsWindows() ? $"{Environment.UserDomainName}\\" : "";
        Expect.Equal($"{domain}{Environment.UserName}, process {Environment.ProcessId}", Connected(server).Single());
        await StreamAsync($"{address}/bytes");
        await HostAsync($"{address}/hosted");
    }

    private static async Task BatchAsync(ShmChannel channel)
    {
        // snippet: batch
        using ShmCallBatch batch = channel.CreateBatch();
        AsyncUnaryCall<HelloReply>[] calls = Record(new Greeter.GreeterClient(batch.CallInvoker));
        await batch.SendAsync();
        // end snippet
        HelloReply[] replies = await Task.WhenAll(calls.Select(call => call.ResponseAsync));
        Expect.Equal("Asked: Hello a, Asked: Hello b", string.Join(", ", replies.Select(reply => reply.Message)));
    }

    private static AsyncUnaryCall<HelloReply>[] Record(Greeter.GreeterClient client) =>
    [
        client.SayHelloAsync(new HelloRequest { Name = "a" }),
        client.SayHelloAsync(new HelloRequest { Name = "b" }),
    ];

    private static IEnumerable<string> Connected(ShmServer server)
    {
        // snippet: sessions
        IEnumerable<string> connected =
            from session in server.Sessions
            select $"{session.User.Identity?.Name}, process {session.ProcessId}";
        // end snippet
        return connected;
    }

    private static async Task StreamAsync(string address)
    {
        await using var listener = new ShmStreamListener(address);
        listener.Start();
        Task echo = EchoAsync(listener);
        byte[] message = "bytes"u8.ToArray();

        // snippet: stream
        await using ShmStream stream = await ShmStream.ConnectAsync(address);
        await stream.WriteAsync(message);
        await stream.ReadExactlyAsync(message);
        // end snippet
        await echo;
    }

    private static async Task EchoAsync(ShmStreamListener listener)
    {
        await using ShmStream stream = await listener.AcceptAsync();
        byte[] message = new byte["bytes".Length];
        await stream.ReadExactlyAsync(message);
        await stream.WriteAsync(message);
    }

    private static async Task HostAsync(string address)
    {
        HostApplicationBuilder builder = Host.CreateEmptyApplicationBuilder(
            new HostApplicationBuilderSettings { DisableDefaults = true });

        // snippet: host
        builder.Services.AddShmServer(address).AddService<GreeterService>().AddHealth().AddReflection();
        builder.Services.AddShmClient<Greeter.GreeterClient>(address);
        builder.Services.AddHealthChecks().AddShmServer(address);
        // end snippet
        using IHost host = builder.Build();
        await host.StartAsync();
        Greeter.GreeterClient client = host.Services.GetRequiredService<Greeter.GreeterClient>();
        Expect.Equal("Hello host", (await client.SayHelloAsync(new HelloRequest { Name = "host" })).Message);
        await host.StopAsync();
    }

    private sealed class GreeterService : Greeter.GreeterBase
    {
        public override Task<HelloReply> SayHello(HelloRequest request, ServerCallContext context) =>
            Task.FromResult(new HelloReply { Message = $"Hello {request.Name}" });
    }

    private sealed class AskingGreeter : Greeter.GreeterBase
    {
        public override async Task<HelloReply> SayHello(HelloRequest request, ServerCallContext context)
        {
            // snippet: callback
            // The client has added its services to Callbacks.Services of its options.
            var caller = new Greeter.GreeterClient(context.GetShmSession().CreateCallInvoker());
            HelloReply answer = await caller.SayHelloAsync(request);
            // end snippet
            return new HelloReply { Message = $"Asked: {answer.Message}" };
        }
    }
}
