namespace RpcOverShm.FunctionalTests.Support;

/// <summary>Calls of every shape whose tasks nobody observes.</summary>
internal static class UnobservedCalls
{
    /// <summary>Makes calls and drops them: their methods, tokens or deadlines end them.</summary>
    public static async Task DropAsync(ScriptClient client)
    {
        var expired = new CallOptions(deadline: DateTime.MinValue);
        for (int i = 0; i < 20; i++)
        {
            _ = client.UnaryAsync(Payloads.Empty);
            _ = client.UnaryAsync(Payloads.Empty).ResponseHeadersAsync;
            _ = client.UnaryAsync(Payloads.Empty, expired).ResponseHeadersAsync;
            _ = client.ClientStream().ResponseAsync;
            client.UnaryAsync(Payloads.Empty).Dispose();
            client.ClientStream().Dispose();
            client.ServerStream(Payloads.Empty).Dispose();
            AsyncDuplexStreamingCall<Payload, Payload> duplex = client.Duplex();
            _ = duplex.ResponseHeadersAsync;
            duplex.Dispose();
        }

        // An observed call after all the others.
        await CallFailure.OfAsync(client.UnaryAsync(Payloads.Empty).ResponseAsync);
    }
}
