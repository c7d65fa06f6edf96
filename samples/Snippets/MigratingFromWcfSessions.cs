using System.Collections.Concurrent;
using System.Security.Claims;
using Grpc.Core.Interceptors;
using Microsoft.Extensions.Logging;
using Microsoft.Extensions.Logging.Abstractions;

namespace RpcOverShm.Samples;

/// <summary>The code of docs/migrating-from-wcf.md: sessions, state, identity and authorisation.</summary>
internal static class MigratingFromWcfSessions
{
    public static async Task RunAsync(string address)
    {
        ILoggerFactory loggers = NullLoggerFactory.Instance;
        var opened = new ConcurrentQueue<long>();
        var ended = new TaskCompletionSource<long>(TaskCreationOptions.RunContinuationsAsynchronously);

        // snippet: authorize-host
        var options = new ShmServerOptions
        {
            LoggerFactory = loggers,
            Interceptors = { new Authorizer(user => !user.HasClaim(ShmClaimTypes.UserId, "65534")) },
        };
        // end snippet
        await using var server = new ShmServer(address, options);
        server.Services.Add(Greeter.BindService(new CountingGreeter()));

        // snippet: session-events
        // WCF: channel.Opened, Closed and Faulted of each session's channel.
        server.SessionStarted += (_, session) => opened.Enqueue(session.Id);
        server.SessionEnded += (_, session) => ended.TrySetResult(session.Id);
        // end snippet
        await server.StartAsync();

        using (ShmChannel channel = ShmChannel.ForAddress(address))
        {
            var client = new Greeter.GreeterClient(channel);
            Expect.Equal("Call 1", client.SayHello(new HelloRequest()).Message);
            Expect.Equal("Call 2", client.SayHello(new HelloRequest()).Message);
        }

        Expect.Equal(1L, await ended.Task.WaitAsync(TimeSpan.FromSeconds(30)));
        Expect.Equal(1, opened.Count);
        using (ShmChannel channel = ShmChannel.ForAddress(address))
        {
            // A second channel is a second session.
            Expect.Equal("Call 1", new Greeter.GreeterClient(channel).SayHello(new HelloRequest()).Message);
        }
    }

    // snippet: session
    private sealed class CountingGreeter : Greeter.GreeterBase
    {
        public override Task<HelloReply> SayHello(HelloRequest request, ServerCallContext context)
        {
            // WCF: fields of a PerSession instance, OperationContext.Current.SessionId, InstanceContext.Extensions.
            ShmSession session = context.GetShmSession();
            var calls = (Counter)session.Items.GetOrAdd(typeof(Counter), _ => new Counter())!;
            return Task.FromResult(new HelloReply { Message = $"Call {calls.Next()}" });
        }
    }
    // end snippet

    private sealed class Counter
    {
        private int _count;

        public int Next() => Interlocked.Increment(ref _count);
    }

    // snippet: authorize
    /// <summary>WCF: a ServiceAuthorizationManager. The kernel says who calls, not the caller.</summary>
    private sealed class Authorizer(Func<ClaimsPrincipal, bool> isAllowed) : Interceptor
    {
        public override Task<TResponse> UnaryServerHandler<TRequest, TResponse>(
            TRequest request, ServerCallContext context, UnaryServerMethod<TRequest, TResponse> continuation)
        {
            ShmSession caller = context.GetShmSession();
            return isAllowed(caller.User)
                ? continuation(request, context)
                : throw new RpcException(
                    new Status(StatusCode.PermissionDenied, $"User {caller.User.Identity?.Name} may not."));
        }
    }
    // end snippet
}
