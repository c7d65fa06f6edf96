namespace RpcOverShm.Samples;

/// <summary>The code of docs/migrating-from-wcf.md: callbacks with an answer.</summary>
internal static class MigratingFromWcfCallbacks
{
    public static async Task RunAsync(string address)
    {
        await using var server = new ShmServer(address);
        server.Services.Add(Greeter.BindService(new AskingGreeter()));
        await server.StartAsync();
        var answering = new AnsweringGreeter();

        // snippet: callback-client
        var options = new ShmChannelOptions();
        options.Callbacks.Services.Add(Greeter.BindService(answering));
        using ShmChannel channel = ShmChannel.ForAddress(address, options);
        var client = new Greeter.GreeterClient(channel);
        // end snippet
        HelloReply reply = client.SayHello(new HelloRequest { Name = "you" });

        // No code between the call and here has changed the thread: it blocked, and ran the callback.
        Expect.Equal("The client answers: Hello you", reply.Message);
        Expect.Equal(Environment.CurrentManagedThreadId, answering.ThreadId);
    }

    private sealed class AskingGreeter : Greeter.GreeterBase
    {
        // snippet: callback-answer
        public override async Task<HelloReply> SayHello(HelloRequest request, ServerCallContext context)
        {
            // WCF: OperationContext.Current.GetCallbackChannel<IGreeter>(). This operation is not one-way.
            var caller = new Greeter.GreeterClient(context.GetShmSession().CreateCallInvoker());
            HelloReply answer = await caller.SayHelloAsync(request);
            return new HelloReply { Message = $"The client answers: {answer.Message}" };
        }
        // end snippet
    }

    private sealed class AnsweringGreeter : Greeter.GreeterBase
    {
        public int ThreadId { get; private set; }

        public override Task<HelloReply> SayHello(HelloRequest request, ServerCallContext context)
        {
            ThreadId = Environment.CurrentManagedThreadId;
            return Task.FromResult(new HelloReply { Message = $"Hello {request.Name}" });
        }
    }
}
