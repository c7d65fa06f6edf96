namespace RpcOverShm.FunctionalTests.TwoProcess;

/// <summary>Calls to a peer that last until one side ends.</summary>
internal static class HeldCalls
{
    public static IReadOnlyList<string> Shapes { get; } =
        ["blocking", "async", "client-stream", "server-stream", "duplex"];

    /// <summary>
    /// Starts a call of a shape; the task that is returned once its method runs ends with the call.
    /// </summary>
    public static async Task<Task> StartAsync(ScriptClient client, string shape, PeerProcess peer)
    {
        switch (shape)
        {
            case "client-stream":
                // The default script's stream handler waits for requests; the first message shows that it runs.
                AsyncClientStreamingCall<Payload, Payload> clientStream = client.ClientStream();
                await clientStream.RequestStream.WriteAsync(Payloads.Empty).Bounded();
                client.Unary(Payloads.Empty);
                return clientStream.ResponseAsync;
            case "duplex":
                AsyncDuplexStreamingCall<Payload, Payload> duplex = client.Duplex();
                await duplex.RequestStream.WriteAsync(Payloads.Empty).Bounded();
                Assert.That(await duplex.ResponseStream.MoveNext(CancellationToken.None).Bounded());
                return duplex.ResponseStream.MoveNext(CancellationToken.None);
            case "server-stream":
                AsyncServerStreamingCall<Payload> serverStream = client.ServerStream(Payloads.Of("hold"));
                Assert.That(await serverStream.ResponseStream.MoveNext(CancellationToken.None).Bounded());
                return serverStream.ResponseStream.MoveNext(CancellationToken.None);
            default:
                Task unary = shape == "blocking"
                    ? Timeouts.OnThread(() => client.Unary(Payloads.Of("hold")))
                    : client.UnaryAsync(Payloads.Of("hold")).ResponseAsync;
                await peer.NextEventAsync();
                return unary;
        }
    }
}
