using Grpc.Core.Api.Tests.Fakes;
using Grpc.Core.Interceptors;

namespace Grpc.Core.Api.Tests.Behaviour;

/// <summary>What an interceptor may do with a call, and what one does that overrides nothing.</summary>
public class InterceptorTests
{
    private readonly FakeServerCallContext _context = new();
    private readonly FakeStreamReader<string> _requests = new("request");
    private readonly FakeStreamWriter<string> _responses = new();

    [TestCaseSource(typeof(EveryCall), nameof(EveryCall.Kinds))]
    public void ClientCall_NothingOverridden_GoesStraightOn(string kind)
    {
        var bottom = new RecordingCallInvoker();
        var headers = new Metadata();

        EveryCall.Start(kind, bottom.Intercept(new PassiveInterceptor()), new CallOptions(headers));

        Assert.That(bottom.LastCall.Options.Headers, Is.SameAs(headers));
        Assert.That(bottom.LastCall.Blocking, Is.EqualTo(kind == "blocking"));
    }

    [Test]
    public void ClientCall_NotContinued_NeverReachesTheBottom()
    {
        var bottom = new RecordingCallInvoker();
        var invoker = bottom.Intercept(new CachingInterceptor());

        var response = invoker.BlockingUnaryCall(TestMethods.Unary, null, new CallOptions(), "cached");

        Assert.That(response, Is.EqualTo("cached"));
        Assert.That(bottom.Calls, Is.Empty);
    }

    [Test]
    public void ClientCall_ContinuedTwiceWithOtherContext_ReachesTheBottomTwice()
    {
        var bottom = new RecordingCallInvoker();
        var invoker = bottom.Intercept(new RepeatingInterceptor());

        invoker.BlockingUnaryCall(TestMethods.Unary, "host", new CallOptions(), "request");

        Assert.That(bottom.Calls.Select(call => call.Host), Is.EqualTo(["first", "second"]));
        Assert.That(bottom.Calls.Select(call => call.Request), Is.EqualTo(["request", "request"]));
    }

    [Test]
    public void ClientInterceptorContext_OfCall_HasItsParts()
    {
        var headers = new Metadata();

        var context = new ClientInterceptorContext<string, string>(
            TestMethods.Unary, "host", new CallOptions(headers));

        Assert.That(context.Method, Is.SameAs(TestMethods.Unary));
        Assert.That(context.Host, Is.EqualTo("host"));
        Assert.That(context.Options.Headers, Is.SameAs(headers));
    }

    [Test]
    public async Task UnaryServerHandler_NotOverridden_GoesStraightOn()
    {
        var response = await new PassiveInterceptor().UnaryServerHandler<string, string>(
            "request", _context, (request, context) => Task.FromResult(request + context.Host));

        Assert.That(response, Is.EqualTo("requesthost"));
    }

    [Test]
    public async Task ClientStreamingServerHandler_NotOverridden_GoesStraightOn()
    {
        var response = await new PassiveInterceptor().ClientStreamingServerHandler<string, string>(
            _requests, _context, async (requests, context) =>
                await requests.MoveNext() ? requests.Current + context.Host : "none");

        Assert.That(response, Is.EqualTo("requesthost"));
    }

    [Test]
    public async Task ServerStreamingServerHandler_NotOverridden_GoesStraightOn()
    {
        await new PassiveInterceptor().ServerStreamingServerHandler<string, string>(
            "request", _responses, _context, (request, responses, context) =>
                responses.WriteAsync(request + context.Host));

        Assert.That(_responses.Written, Is.EqualTo(["requesthost"]));
    }

    [Test]
    public async Task DuplexStreamingServerHandler_NotOverridden_GoesStraightOn()
    {
        await new PassiveInterceptor().DuplexStreamingServerHandler<string, string>(
            _requests, _responses, _context, async (requests, responses, context) =>
            {
                await requests.MoveNext();
                await responses.WriteAsync(requests.Current + context.Host);
            });

        Assert.That(_responses.Written, Is.EqualTo(["requesthost"]));
    }

    private sealed class PassiveInterceptor : Interceptor;

    private sealed class CachingInterceptor : Interceptor
    {
        public override TResponse BlockingUnaryCall<TRequest, TResponse>(
            TRequest request,
            ClientInterceptorContext<TRequest, TResponse> context,
            BlockingUnaryCallContinuation<TRequest, TResponse> continuation)
        {
            return (TResponse)(object)request;
        }
    }

    private sealed class RepeatingInterceptor : Interceptor
    {
        public override TResponse BlockingUnaryCall<TRequest, TResponse>(
            TRequest request,
            ClientInterceptorContext<TRequest, TResponse> context,
            BlockingUnaryCallContinuation<TRequest, TResponse> continuation)
        {
            continuation(request, new(context.Method, "first", context.Options));
            return continuation(request, new(context.Method, "second", context.Options));
        }
    }
}
