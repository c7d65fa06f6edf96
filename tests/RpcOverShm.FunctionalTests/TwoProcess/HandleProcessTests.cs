using System.Runtime.InteropServices;
using Microsoft.Win32.SafeHandles;
using RpcOverShm.FunctionalTests.Handles;

namespace RpcOverShm.FunctionalTests.TwoProcess;

/// <summary>Handles of another process: nothing is left after many calls, nor after the death of either side.</summary>
[OneMode]
[LinuxOnly("Windows passes no handles after the handshake.")]
internal sealed class HandleProcessTests : PeerFixture
{
    private const string Pipes = "pipe:";

    private static readonly Method<string, string> s_method = new(
        MethodType.Unary, "test.Handles", "Unary", Marshallers.StringMarshaller, Marshallers.StringMarshaller);

    private readonly OpenThings _things = new();

    [TearDown]
    public void CloseThings() => _things.Dispose();

    [Test]
    public async Task Pipe_ThatComesBackFromAnotherProcess_HasItsBytes()
    {
        await ServeAsync();
        ShmChannel channel = await OpenAsync();
        using var received = new ShmReceivedHandles();

        await CallAsync(channel, "back", default(CallOptions).WithHandles(received, _things.Pipe("there and back")));

        SafeFileHandle back = (await received.TakeAsync().Bounded()).Single();
        Assert.That(await OpenThings.ReadAsync(back), Is.EqualTo("there and back"));
    }

    // Every third is taken, every third refused by nobody and left, every third comes back and is left here.
    [Test]
    public async Task ThousandCalls_LeaveNothingInEitherProcess()
    {
        PeerProcess server = await ServeAsync();
        ShmChannel channel = await OpenAsync();
        await CallManyAsync(channel, 30);
        int own = ProcessResources.CountDescriptors();
        int others = ProcessResources.CountDescriptors("", server.Id);

        await CallManyAsync(channel, 1000);

        await Timeouts.Eventually(() => ProcessResources.CountDescriptors() <= own);
        await Timeouts.Eventually(() => ProcessResources.CountDescriptors("", server.Id) <= others);
    }

    [Test]
    public async Task Server_ThatIsKilledWithHandles_LeavesNothing()
    {
        int before = ProcessResources.CountDescriptors(Pipes);
        for (int i = 0; i < 3; i++)
        {
            PeerProcess server = await ServeAsync();
            ShmChannel channel = await OpenAsync();
            using var received = new ShmReceivedHandles();
            Task call = CallAsync(channel, "keep", default(CallOptions).WithHandles(received, _things.Pipe("kept")));
            Assert.That(await server.NextEventAsync(), Is.EqualTo("kept 1"));

            server.Kill();
            await server.Exited.Bounded();

            Assert.That((await CallFailure.OfAsync(call)).StatusCode, Is.EqualTo(StatusCode.Unavailable));
            Assert.That(await received.TakeAsync().Bounded(), Is.Empty);
            await channel.ShutdownAsync();
            await EndAsync(server);
        }

        _things.Dispose();
        await Timeouts.Eventually(() => ProcessResources.CountDescriptors(Pipes) <= before);
    }

    [Test]
    public async Task Client_ThatIsKilledWithHandles_LeavesNothing([Values] bool areTaken)
    {
        var taken = new List<SafeFileHandle>();
        using var begun = new SemaphoreSlim(0);
        await using var server = new ShmServer(
            Address,
            new ShmServerOptions
            {
                Listen = { RuntimeDirectory = Directory.Option },
                LoggerFactory = Log,
                Handles = { AllowHandles = true },
            });
        server.Services.Add(ServerServiceDefinition.CreateBuilder().AddMethod(s_method, HoldAsync).Build());
        await server.StartAsync();
        int before = ProcessResources.CountDescriptors(Pipes);
        PeerProcess client = await StartPeerAsync();
        await client.DoAsync($"handle-channel {Address} {Directory.Word}");
        await client.DoAsync("handle-calls 20 hold");
        for (int i = 0; i < 20; i++)
        {
            Assert.That(await begun.WaitAsync(Timeouts.Wait));
        }

        client.Kill();
        await client.Exited.Bounded();

        await Timeouts.Eventually(() => server.Running!.Connections.Count == 0);
        Assert.That(taken.Count(static one => !one.IsClosed), Is.EqualTo(areTaken ? 20 : 0), "They are the method's.");
        taken.ForEach(static one => one.Dispose());
        await EndAsync(client);
        await Timeouts.Eventually(() => ProcessResources.CountDescriptors(Pipes) <= before);

        async Task<string> HoldAsync(string request, ServerCallContext context)
        {
            if (areTaken)
            {
                SafeFileHandle[] handles = await context.TakeHandlesAsync();
                lock (taken)
                {
                    taken.AddRange(handles);
                }
            }

            begun.Release();
            await Task.Delay(Timeout.Infinite, context.CancellationToken);
            return request;
        }
    }

    private static async Task CallManyAsync(ShmChannel channel, int calls)
    {
        using var things = new OpenThings();
        SafeHandle pipe = things.Pipe("");
        for (int i = 0; i < calls; i++)
        {
            using var received = new ShmReceivedHandles();
            await CallAsync(
                channel, i % 3 == 0 ? "leave" : "back", default(CallOptions).WithHandles(received, pipe));
            if (i % 3 == 1)
            {
                (await received.TakeAsync().Bounded()).Single().Dispose();
            }
        }
    }

    private async Task<PeerProcess> ServeAsync()
    {
        PeerProcess server = await StartPeerAsync();
        await server.DoAsync($"serve-handles {Address} {Directory.Word}");
        return server;
    }

    private async Task<ShmChannel> OpenAsync()
    {
        ShmChannel channel = OpenChannel(static options => options.Handles.AllowHandles = true);
        await channel.ConnectAsync().Bounded();
        return channel;
    }

    private static Task<string> CallAsync(ShmChannel channel, string request, CallOptions options) =>
        channel.CreateCallInvoker().AsyncUnaryCall(s_method, null, options, request).ResponseAsync.Bounded();
}
