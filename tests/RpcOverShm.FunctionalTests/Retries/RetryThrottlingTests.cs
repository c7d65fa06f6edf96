namespace RpcOverShm.FunctionalTests.Retries;

/// <summary>Refilling of the retry tokens. Shared memory only: Grpc.Core does not count answered streams.</summary>
[FixtureLifeCycle(LifeCycle.InstancePerTestCase)]
internal sealed class RetryThrottlingTests() : RigFixture(RigKind.Shm)
{
    private const string PreviousAttemptsHeader = "grpc-previous-rpc-attempts";
    private const int Tokens = 4;

    private static readonly RigOptions s_throttled = new()
    {
        Retries = new RigRetries(3, StatusCode.Unavailable)
        {
            Backoff = TimeSpan.FromMilliseconds(1),
            MaxTokens = Tokens,
            TokenRatio = 1,
        },
    };

    [Test]
    public async Task Streams_ThatEndWell_AllowRetriesAgain([Values] bool isDuplex)
    {
        bool isDown = true;
        ShmRig rig = await StartShmAsync(
            new Script
            {
                Unary = (request, context) =>
                    isDown || context.RequestHeaders.GetValue(PreviousAttemptsHeader) is null
                        ? throw new RpcException(new Status(StatusCode.Unavailable, "not now"))
                        : Task.FromResult(request),
            },
            s_throttled);
        for (int i = 0; i < Tokens; i++)
        {
            await FailureOf(rig.Client.UnaryAsync(Payloads.Empty));
        }

        // No token is left, so a failed call is not retried.
        isDown = false;
        await FailureOf(rig.Client.UnaryAsync(Payloads.Empty));

        await Timeouts.Eventually(() => IsTriedAgainAfterStreams(rig.Client, isDuplex), "streams put tokens in");
    }

    // The streams fill the bucket, so it is more than half full even after the first attempt has failed.
    private static bool IsTriedAgainAfterStreams(ScriptClient client, bool isDuplex)
    {
        for (int i = 0; i < Tokens; i++)
        {
            StreamAsync(client, isDuplex).GetAwaiter().GetResult();
        }

        try
        {
            client.Unary(Payloads.Empty);
            return true;
        }
        catch (RpcException)
        {
            return false;
        }
    }

    private static async Task StreamAsync(ScriptClient client, bool isDuplex)
    {
        if (!isDuplex)
        {
            using AsyncServerStreamingCall<Payload> stream = client.ServerStream(Payloads.Empty);
            await stream.ResponseStream.ToListAsync();
            return;
        }

        using AsyncDuplexStreamingCall<Payload, Payload> call = client.Duplex();
        await call.RequestStream.WriteAsync(Payloads.Empty);
        await call.RequestStream.CompleteAsync();
        await call.ResponseStream.ToListAsync();
    }
}
