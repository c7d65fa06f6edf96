using System.Security.Claims;
using Microsoft.Extensions.Logging;

namespace RpcOverShm.Samples;

/// <summary>The code of docs/testing.md.</summary>
internal static class Testing
{
    public static async Task RunAsync(string _)
    {
        await TestOfAClientAsync();
        await TestOfAServiceAsync();
        using ILoggerFactory loggers = LoggerFactory.Create(logging => logging.SetMinimumLevel(LogLevel.Debug));
        await TestWithAServerAsync(loggers);
    }

    private static async Task TestOfAClientAsync()
    {
        // snippet: fake-test
        var fake = new FakeGreeterClient();
        string welcome = await new Reception(fake).WelcomeAsync("ada");
        // end snippet
        Expect.Equal("Hello ada. Please sit down.", welcome);
        Expect.Equal("ada", fake.Requests.Single().Name);
    }

    private static async Task TestOfAServiceAsync()
    {
        // snippet: test
        using var closed = new CancellationTokenSource();
        var identity = new ClaimsIdentity(
            [new Claim(ClaimTypes.Name, "alice"), new Claim(ShmClaimTypes.UserId, "1000")],
            "test",
            ClaimTypes.Name,
            ShmClaimTypes.GroupId);
        var session = new ShmSession(new ClaimsPrincipal(identity), closed: closed.Token);
        ServerCallContext context = new TestContext();
        context.SetShmSession(session);

        HelloReply reply = await new UserGreeter().SayHello(new HelloRequest { Name = "world" }, context);
        // end snippet
        Expect.Equal("Hello world, user 1000", reply.Message);

        // snippet: end
        closed.Cancel();
        // end snippet
        Expect.Equal(true, session.Closed.IsCancellationRequested);
    }

    private static async Task TestWithAServerAsync(ILoggerFactory loggers)
    {
        // snippet: server
        var options = new ShmServerOptions { LoggerFactory = loggers, EnableDetailedErrors = true };
        await using var server = new ShmServer($"shm://test-{Guid.NewGuid():N}", options);
        server.Services.Add(Greeter.BindService(new UserGreeter()));
        await server.StartAsync();

        using ShmChannel channel = ShmChannel.ForAddress(server.Address);
        HelloReply reply = await new Greeter.GreeterClient(channel).SayHelloAsync(new HelloRequest { Name = "world" });
        // end snippet
        Expect.Equal(true, reply.Message.StartsWith("Hello world, user ", StringComparison.Ordinal));
    }

    // snippet: fake
    private sealed class FakeGreeterClient : Greeter.GreeterClient
    {
        public List<HelloRequest> Requests { get; } = [];

        // The other overload of an awaited call comes here too. A blocking call is SayHello(request, options).
        public override AsyncUnaryCall<HelloReply> SayHelloAsync(HelloRequest request, CallOptions options)
        {
            Requests.Add(request);
            return new AsyncUnaryCall<HelloReply>(
                Task.FromResult(new HelloReply { Message = $"Hello {request.Name}" }),
                responseHeadersAsync: Task.FromResult(new Metadata()),
                getStatusFunc: () => Status.DefaultSuccess,
                getTrailersFunc: () => [],
                disposeAction: () => { });
        }
    }
    // end snippet

    // snippet: tested
    private sealed class Reception(Greeter.GreeterClient greeter)
    {
        public async Task<string> WelcomeAsync(string name)
        {
            HelloReply reply = await greeter.SayHelloAsync(new HelloRequest { Name = name });
            return $"{reply.Message}. Please sit down.";
        }
    }
    // end snippet

    // snippet: service
    private sealed class UserGreeter : Greeter.GreeterBase
    {
        public override Task<HelloReply> SayHello(HelloRequest request, ServerCallContext context)
        {
            string? user = context.GetShmSession().User.FindFirst(ShmClaimTypes.UserId)?.Value;
            return Task.FromResult(new HelloReply { Message = $"Hello {request.Name}, user {user}" });
        }
    }
    // end snippet

    private sealed class TestContext : ServerCallContext
    {
        protected override string MethodCore => "";

        protected override string HostCore => "";

        protected override string PeerCore => "";

        protected override DateTime DeadlineCore => DateTime.MaxValue;

        protected override Metadata RequestHeadersCore => [];

        protected override CancellationToken CancellationTokenCore => default;

        protected override Metadata ResponseTrailersCore => [];

        protected override Status StatusCore { get; set; }

        protected override WriteOptions? WriteOptionsCore { get; set; }

        protected override AuthContext AuthContextCore => new(null, []);

        protected override ContextPropagationToken CreatePropagationTokenCore(ContextPropagationOptions? options) =>
            throw new NotSupportedException();

        protected override Task WriteResponseHeadersAsyncCore(Metadata responseHeaders) => Task.CompletedTask;
    }
}
