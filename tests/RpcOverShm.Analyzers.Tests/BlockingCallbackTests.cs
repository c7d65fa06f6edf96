namespace RpcOverShm.Analyzers.Tests;

public class BlockingCallbackTests
{
    [TestCase("new Greeter.GreeterClient(context.GetShmSession().CreateCallInvoker())")]
    [TestCase("new Greeter.GreeterClient(context.GetShmSession().CreateCallInvoker().Intercept(Interceptor))")]
    public Task BlockingCall_ToTheClientOfTheCall_IsReported(string client) =>
        Verify.ReportsAsync<BlockingCallbackAnalyzer>($$"""
            private static Interceptor Interceptor => throw new NotSupportedException();

            public override Task<HelloReply> SayHello(HelloRequest request, ServerCallContext context)
            {
                var caller = {{client}};
                return Task.FromResult([|caller.SayHello(request)|]);
            }
            """);

    [Test]
    public Task BlockingCall_OfAnInvokerInAVariable_IsReported() => Verify.ReportsAsync<BlockingCallbackAnalyzer>("""
        public override Task<HelloReply> SayHello(HelloRequest request, ServerCallContext context)
        {
            ShmSession session = context.GetShmSession();
            CallInvoker back = session.CreateCallInvoker();
            return Task.FromResult([|new Greeter.GreeterClient(back).SayHello(request, new CallOptions())|]);
        }
        """);

    [TestCase(
        "HelloReply reply = [|caller.SayHello(request)|];",
        "HelloReply reply = await caller.SayHelloAsync(request);")]
    [TestCase(
        "string message = [|caller.SayHello(request)|].Message;",
        "string message = (await caller.SayHelloAsync(request)).Message;")]
    public Task BlockingCall_InAnAsyncMethod_IsAwaitedByTheFix(string statement, string fixedStatement) =>
        Verify.FixesAsync<BlockingCallbackAnalyzer, AwaitCallFix>(
            InAsyncMethod(statement), InAsyncMethod(fixedStatement));

    [TestCase("lock (caller) { [|caller.SayHello(request)|]; }")]
    [TestCase("try { } catch (Exception) when ([|caller.SayHello(request)|].Message == null) { }")]
    public Task BlockingCall_WhereNothingCanBeAwaited_HasNoFix(string statement) =>
        Verify.FixesAsync<BlockingCallbackAnalyzer, AwaitCallFix>(InAsyncMethod(statement), InAsyncMethod(statement));

    // Another server; a method that is no service method; a thread of its own; an awaited call; a one-way call.
    [TestCase("new Greeter.GreeterClient(Other).SayHello(request);")]
    [TestCase("await new Greeter.GreeterClient(context.GetShmSession().CreateCallInvoker()).SayHelloAsync(request);")]
    [TestCase("new Greeter.GreeterClient(context.GetShmSession().CreateOneWayInvoker()).SayHello(request);")]
    [TestCase("""
        var caller = new Greeter.GreeterClient(context.GetShmSession().CreateCallInvoker());
        new Thread(() => caller.SayHello(request)).Start();
        """)]
    public Task Call_ThatDoesNotBlockOnItsOwnClient_IsNotReported(string statements) =>
        Verify.ReportsAsync<BlockingCallbackAnalyzer>($$"""
            private static ShmChannel Other => throw new NotSupportedException();

            private static void Tell(ShmSession session) =>
                new Greeter.GreeterClient(session.CreateCallInvoker()).SayHello(new HelloRequest());

            public override async Task<HelloReply> SayHello(HelloRequest request, ServerCallContext context)
            {
                {{statements}}
                await Task.Yield();
                return new HelloReply();
            }
            """);

    private static string InAsyncMethod(string statement) => $$"""
        public override async Task<HelloReply> SayHello(HelloRequest request, ServerCallContext context)
        {
            var caller = new Greeter.GreeterClient(context.GetShmSession().CreateCallInvoker());
            {{statement}}
            await Task.Yield();
            return new HelloReply();
        }
        """;
}
