namespace RpcOverShm.Samples;

/// <summary>The code of docs/migrating-from-wcf.md: one-way calls.</summary>
internal static class MigratingFromWcfOneWay
{
    public static async Task RunAsync(string address)
    {
        var failed = new TaskCompletionSource<Status>(TaskCreationOptions.RunContinuationsAsynchronously);
        await using var server = new ShmServer(address);
        server.Services.Add(Greeter.BindService(new FailingGreeter()));
        await server.StartAsync();
        using ShmChannel channel = ShmChannel.ForAddress(address);

        // snippet: one-way
        // WCF: [OperationContract(IsOneWay = true)]. Returns when the server's process has the request.
        var oneWay = new Greeter.GreeterClient(channel.CreateOneWayInvoker());
        oneWay.SayHello(new HelloRequest { Name = "nobody" });
        // end snippet

        // snippet: one-way-failed
        // WCF loses the exception of a one-way operation. Here the client hears of the failure.
        var reporting = new Greeter.GreeterClient(
            channel.CreateOneWayInvoker((method, status) => failed.TrySetResult(status)));
        reporting.SayHello(new HelloRequest { Name = "nobody" });
        // end snippet
        Expect.Equal(StatusCode.NotFound, (await failed.Task.WaitAsync(TimeSpan.FromSeconds(30))).StatusCode);
    }

    private sealed class FailingGreeter : Greeter.GreeterBase
    {
        public override Task<HelloReply> SayHello(HelloRequest request, ServerCallContext context) =>
            throw new RpcException(new Status(StatusCode.NotFound, "Nobody."));
    }
}
