namespace RpcOverShm.Analyzers.Tests;

public class ChannelPerCallTests
{
    [TestCase("using ShmChannel channel = [|ShmChannel.ForAddress(Address)|]; Call(channel);")]
    [TestCase("await using var channel = [|ShmChannel.ForAddress(Address, new ShmChannelOptions())|];")]
    [TestCase("using (var channel = [|ShmChannel.ForAddress(Address)|]) { }")]
    [TestCase("var channel = [|ShmChannel.ForAddress(Address)|]; await channel.ShutdownAsync();")]
    [TestCase("string address = Address; using var channel = [|ShmChannel.ForAddress(address)|];")]
    [TestCase("using var channel = [|ShmChannel.ForAddress(_address)|];")]
    public Task Channel_OfAServiceMethod_IsReported(string statements) =>
        Verify.ReportsAsync<ChannelPerCallAnalyzer>(InServiceMethod(statements));

    // One server for each request, or an address that changes; a stream, which may last.
    [TestCase("using var channel = ShmChannel.ForAddress(request.Name);")]
    [TestCase("string address = request.Name; using var channel = ShmChannel.ForAddress(address);")]
    [TestCase("string address = Address; address += 1; using var channel = ShmChannel.ForAddress(address);")]
    [TestCase("_address = Environment.MachineName; using var channel = ShmChannel.ForAddress(_address);")]
    [TestCase("using var channel = ShmChannel.ForAddress(Address); new Streamer(channel).GreetAll();")]
    public Task Channel_OfAServiceMethodForAnotherReason_IsNotReported(string statements) =>
        Verify.ReportsAsync<ChannelPerCallAnalyzer>(InServiceMethod(statements));

    [Test]
    public Task Channel_OfAStreamingServiceMethod_IsNotReported() =>
        Verify.ReportsAsync<ChannelPerCallAnalyzer>(WithAddress("""
            public async Task Watch(
                HelloRequest request, IServerStreamWriter<HelloReply> replies, ServerCallContext context)
            {
                using var channel = ShmChannel.ForAddress(Address);
                await Task.Delay(-1, context.CancellationToken);
            }
            """));

    [TestCase("for (int i = 0; i < 10; i++)", "Address")]
    [TestCase("foreach (string name in names)", "\"shm://greeter\"")]
    [TestCase("while (true)", "_address")]
    [TestCase("while (true)", "prefix + Address")]
    public Task Channel_OfOneAddressInALoopOfCalls_IsReported(string loop, string address) =>
        Verify.ReportsAsync<ChannelPerCallAnalyzer>(InLoop(
            loop,
            $$"""
            using ShmChannel channel = [|ShmChannel.ForAddress({{address}})|];
            new Greeter.GreeterClient(channel).SayHello(Hello);
            """));

    // One server after another; a channel without a call; one that lasts; one that is kept.
    [TestCase("using var channel = ShmChannel.ForAddress(name); ClientOf(channel).SayHello(Hello);")]
    [TestCase("using var channel = ShmChannel.ForAddress($\"shm://{name}\"); ClientOf(channel).SayHello(Hello);")]
    [TestCase("using var channel = ShmChannel.ForAddress(Next()); ClientOf(channel).SayHello(Hello);")]
    [TestCase("using var c = ShmChannel.ForAddress(_address); ClientOf(c).SayHello(Hello); _address = name;")]
    [TestCase("using var c = ShmChannel.ForAddress(prefix); ClientOf(c).SayHello(Hello); Change(ref prefix);")]
    [TestCase("using ShmChannel channel = ShmChannel.ForAddress(Address);")]
    [TestCase(
        "using var channel = ShmChannel.ForAddress(Address); while (true) { ClientOf(channel).SayHello(Hello); }")]
    [TestCase(
        "var channel = ShmChannel.ForAddress(Address); _kept.Add(channel); ClientOf(channel).SayHello(Hello);")]
    public Task Channel_OfALoopForAnotherReason_IsNotReported(string statements) =>
        Verify.ReportsAsync<ChannelPerCallAnalyzer>(InLoop("foreach (string name in names)", statements));

    [TestCase("private static ShmChannel Channel => [|ShmChannel.ForAddress(Address)|];")]
    [TestCase("private static Greeter.GreeterClient Made => new([|ShmChannel.ForAddress(Address)|]);")]
    [TestCase("private static ShmChannel Channel { get { return [|ShmChannel.ForAddress(Address)|]; } }")]
    public Task Channel_ThatAPropertyMakes_IsReported(string member) =>
        Verify.ReportsAsync<ChannelPerCallAnalyzer>(WithAddress(member));

    [TestCase("private static ShmChannel Channel { get; } = ShmChannel.ForAddress(Address);")]
    [TestCase("private ShmChannel Channel => _channel ??= ShmChannel.ForAddress(Address);")]
    [TestCase("private static Func<ShmChannel> Maker => () => ShmChannel.ForAddress(Address);")]
    public Task Channel_ThatAPropertyKeeps_IsNotReported(string member) =>
        Verify.ReportsAsync<ChannelPerCallAnalyzer>(WithAddress(member));

    // The whole program may be this method, and so may a test.
    [Test]
    public Task Channel_OfAnyOtherMethod_IsNotReported() => Verify.ReportsAsync<ChannelPerCallAnalyzer>(WithAddress("""
        private static async Task MainAsync()
        {
            using ShmChannel channel = ShmChannel.ForAddress(Address);
            await new Greeter.GreeterClient(channel).SayHelloAsync(new HelloRequest());
        }
        """));

    [Test]
    public Task Channel_ThatAServiceMethodKeeps_IsNotReported() =>
        Verify.ReportsAsync<ChannelPerCallAnalyzer>(InServiceMethod("_channel ??= ShmChannel.ForAddress(Address);"));

    private static string InServiceMethod(string statements) => WithAddress($$"""
        public override async Task<HelloReply> SayHello(HelloRequest request, ServerCallContext context)
        {
            {{statements}}
            await Task.Yield();
            return new HelloReply();
        }
        """);

    private static string InLoop(string loop, string statements) => WithAddress($$"""
        private static string Next() => Address;

        private static void Change(ref string address) => address += "1";

        private void Run(string[] names, string prefix)
        {
            {{loop}}
            {
                {{statements}}
            }
        }
        """);

    private static string WithAddress(string members) => $$"""
        private const string Address = "shm://greeter";

        private readonly List<ShmChannel> _kept = new();

        private ShmChannel _channel;

        private string _address = Address;

        private static HelloRequest Hello => new();

        private static Greeter.GreeterClient ClientOf(ShmChannel channel) => new(channel);

        private static void Call(ShmChannel channel) => new Greeter.GreeterClient(channel).SayHello(Hello);

        private sealed class Streamer(ChannelBase channel) : ClientBase(channel)
        {
            public AsyncServerStreamingCall<HelloReply> GreetAll() => throw new NotSupportedException();
        }

        {{members}}
        """;
}
