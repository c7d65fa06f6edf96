using System.Security.Claims;

namespace RpcOverShm.Samples;

/// <summary>The code of docs/unit-tests.md.</summary>
internal static class UnitTests
{
    public static async Task RunAsync(string _)
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
