namespace RpcOverShm.FunctionalTests.Retries;

/// <summary>The size and lifetime of retry buffers, and metadata limits on retried calls.</summary>
[FixtureLifeCycle(LifeCycle.InstancePerTestCase)]
internal sealed class RetryLimitTests() : RigFixture(RigKind.Shm)
{
    private const string PreviousAttemptsHeader = "grpc-previous-rpc-attempts";
    private const int Budget = 10_000;
    private const int MostOfIt = 9_000;

    private static readonly RigOptions s_retrying = new()
    {
        Retries = new RigRetries(3, StatusCode.Unavailable) { Backoff = TimeSpan.FromMilliseconds(1) },
        MaxRetryBufferPerCall = Budget,
    };

    private readonly TaskCompletionSource _answered = new(TaskCreationOptions.RunContinuationsAsynchronously);

    [Test]
    public async Task Stream_ThatHasBecomeTooLargeToKeep_LeavesTheBudgetToOthers()
    {
        ScriptClient client = await StartAsync(isAnsweredEarly: false);

        using AsyncClientStreamingCall<Payload, Payload> call = client.ClientStream();
        await call.RequestStream.WriteAsync(Payloads.OfSize(MostOfIt)).Bounded();
        bool isTriedBefore = IsRetryable(client);
        await call.RequestStream.WriteAsync(Payloads.OfSize(MostOfIt)).Bounded();
        bool isTriedAfter = IsRetryable(client);
        await call.RequestStream.CompleteAsync().Bounded();
        Payload answer = await call.ResponseAsync.Bounded();

        Assert.That((isTriedBefore, isTriedAfter), Is.EqualTo((false, true)));
        Assert.That(answer.Data.Length, Is.EqualTo(MostOfIt));
    }

    [Test]
    public async Task ClientStream_WhoseHeadersHaveCome_LeavesTheBudgetToOthers()
    {
        ScriptClient client = await StartAsync(isAnsweredEarly: true);

        using AsyncClientStreamingCall<Payload, Payload> call = client.ClientStream();
        await call.RequestStream.WriteAsync(Payloads.OfSize(MostOfIt)).Bounded();
        await _answered.Task.Bounded();

        await Timeouts.Eventually(() => IsRetryable(client), "the answered call keeps nothing any more");
        await call.RequestStream.CompleteAsync().Bounded();
        Assert.That((await call.ResponseAsync.Bounded()).Data.Length, Is.EqualTo(MostOfIt));
    }

    [Test]
    public async Task Attempts_WhereNoMetadataIsAllowed_ComeThroughAllTheSame()
    {
        ShmRig rig = await StartShmAsync(
            new Script
            {
                Unary = (_, context) => context.RequestHeaders.GetValue(PreviousAttemptsHeader) == "2"
                    ? Task.FromResult(Payloads.Of("here"))
                    : throw Unavailable(),
            },
            s_retrying with { ServerMaxMetadata = 0 });

        Payload answer = await rig.Client.UnaryAsync(Payloads.Empty).ResponseAsync.Bounded();

        Assert.That(answer.Text(), Is.EqualTo("here"));
    }

    private static RpcException Unavailable() => new(new Status(StatusCode.Unavailable, "not now"));

    // The call succeeds at its second attempt, which it gets only if the retry buffer has room for the request.
    private static bool IsRetryable(ScriptClient client)
    {
        try
        {
            client.Unary(Payloads.OfSize(MostOfIt));
            return true;
        }
        catch (RpcException)
        {
            return false;
        }
    }

    private async Task<ScriptClient> StartAsync(bool isAnsweredEarly)
    {
        ShmRig rig = await StartShmAsync(
            new Script
            {
                Unary = (request, context) => context.RequestHeaders.GetValue(PreviousAttemptsHeader) is not null
                    ? Task.FromResult(request)
                    : throw Unavailable(),
                ClientStream = async (requests, context) =>
                {
                    if (isAnsweredEarly)
                    {
                        await context.WriteResponseHeadersAsync([]);
                        _answered.SetResult();
                    }

                    return (await requests.ToListAsync())[^1];
                },
            },
            s_retrying);
        ShmChannel channel = rig.OpenChannel(options => options.MaxRetryBufferSize = Budget);
        return new ScriptClient(channel.CreateCallInvoker());
    }
}
