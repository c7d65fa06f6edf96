namespace RpcOverShm.Samples;

/// <summary>The service that the snippets call: greets anybody but the empty name.</summary>
internal sealed class SnippetService : Greeter.GreeterBase
{
    // snippet: deadline
    public override async Task<HelloReply> SayHello(HelloRequest request, ServerCallContext context)
    {
        if (request.Name == "slow")
        {
            // The token fires when the client cancels, dies, or its deadline passes.
            await Task.Delay(Timeout.Infinite, context.CancellationToken);
        }

        return new HelloReply { Message = $"Hello {request.Name}" };
    }
    // end snippet
}
