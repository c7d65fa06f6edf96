namespace RpcOverShm.Samples;

/// <summary>The code of docs/troubleshooting.md.</summary>
internal static class Troubleshooting
{
    public static async Task RunAsync(string address)
    {
        using ShmChannel channel = ShmChannel.ForAddress(address);
        var client = new Greeter.GreeterClient(channel);
        ShmTransportError? error = null;

        // snippet: transport-error
        try
        {
            await client.SayHelloAsync(new HelloRequest { Name = "anybody" });
        }
        catch (RpcException exception) when (exception.Status.DebugException is ShmTransportException transport)
        {
            // exception.Status.Detail is the text for people; Error is for programs.
            error = transport.Error;
        }
        // end snippet

        Expect.Equal(ShmTransportError.NotListening, error);
    }
}
