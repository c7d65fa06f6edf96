namespace RpcOverShm.FunctionalTests.RandomEnds;

/// <summary>Handlers of every shape that follow their call's plan and are counted.</summary>
internal sealed class PlannedHandlers
{
    private int _began;
    private int _beganAgain;
    private int _ended;

    public int Began => Volatile.Read(ref _began);

    /// <summary>The number of handlers that began for a retried call.</summary>
    public int BeganAgain => Volatile.Read(ref _beganAgain);

    public int Ended => Volatile.Read(ref _ended);

    public WeakReferences Contexts { get; } = new();

    public Script Script => new()
    {
        Unary = async (request, context) =>
        {
            await CountedAsync(context, () => AnswerAsync(context));
            return request;
        },
        ServerStream = (request, responses, context) => CountedAsync(context, async () =>
        {
            for (int i = 0; i < 3; i++)
            {
                await responses.WriteAsync(request);
            }

            await AnswerAsync(context);
        }),
        ClientStream = async (requests, context) =>
        {
            await CountedAsync(context, async () =>
            {
                await ReadAsync(requests, null);
                await AnswerAsync(context);
            });
            return Payloads.Of("taken");
        },
        Duplex = (requests, responses, context) => CountedAsync(context, async () =>
        {
            await ReadAsync(requests, responses);
            await AnswerAsync(context);
        }),
    };

    private async Task CountedAsync(ServerCallContext context, Func<Task> handler)
    {
        Contexts.Add(context);
        Interlocked.Increment(ref _began);
        if (context.RequestHeaders.Get("grpc-previous-rpc-attempts") is not null)
        {
            Interlocked.Increment(ref _beganAgain);
        }

        try
        {
            await handler();
        }
        finally
        {
            Interlocked.Increment(ref _ended);
        }
    }

    // A handler may end before it has read all requests.
    private static async Task ReadAsync(IAsyncStreamReader<Payload> requests, IServerStreamWriter<Payload>? responses)
    {
        for (int i = 0; i < 3 && await requests.MoveNext(CancellationToken.None); i++)
        {
            if (responses is not null)
            {
                await responses.WriteAsync(requests.Current);
            }
        }
    }

    private static async Task AnswerAsync(ServerCallContext context)
    {
        CallAnswer answer = CallPlan.AnswerFor(context);
        switch (answer)
        {
            case CallAnswer.Hold:
                await Task.Delay(Timeout.Infinite, context.CancellationToken);
                break;
            case CallAnswer.LateSuccess:
            case CallAnswer.LateFault:
                await Task.Delay(2, CancellationToken.None);
                break;
        }

        switch (answer)
        {
            case CallAnswer.Refusal:
                throw new RpcException(
                    new Status(StatusCode.Aborted, "as planned"), new Metadata { { "trailer", "too" } });
            case CallAnswer.Fault:
            case CallAnswer.LateFault:
                throw new InvalidOperationException("as planned");
        }
    }
}
