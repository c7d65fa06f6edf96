namespace RpcOverShm.Samples;

/// <summary>The code of docs/migrating-from-wcf.md: instances of services.</summary>
internal static class MigratingFromWcfInstances
{
    public static async Task RunAsync(string address)
    {
        await using var server = new ShmServer(address);

        // snippet: instances
        // WCF: [ServiceBehavior(InstanceContextMode = PerSession, ConcurrencyMode = Reentrant,
        //       EnsureOrderedDispatch = true)]
        server.Services.Add(
            static _ => new CountingGreeter(),
            new ShmServiceOptions
            {
                Lifetime = ShmServiceLifetime.PerSession,
                MaxConcurrentCallsPerInstance = 1,
                EnableOrderedDispatch = true,
            });
        // end snippet
        await server.StartAsync();
        for (int i = 0; i < 2; i++)
        {
            using ShmChannel channel = ShmChannel.ForAddress(address);
            var client = new Greeter.GreeterClient(channel);
            Expect.Equal("Call 1", client.SayHello(new HelloRequest()).Message);
            Expect.Equal("Call 2", client.SayHello(new HelloRequest()).Message);
        }
    }

    // snippet: instance
    /// <summary>A field needs no lock: each session has an instance, which runs one call at a time.</summary>
    private sealed class CountingGreeter : Greeter.GreeterBase
    {
        private int _calls;

        public override Task<HelloReply> SayHello(HelloRequest request, ServerCallContext context) =>
            Task.FromResult(new HelloReply { Message = $"Call {++_calls}" });
    }
    // end snippet
}
