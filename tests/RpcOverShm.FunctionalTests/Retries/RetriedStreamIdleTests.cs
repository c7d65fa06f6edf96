using RpcOverShm.FunctionalTests.RandomEnds;

namespace RpcOverShm.FunctionalTests.Retries;

/// <summary>Memory left after the attempts of retried streams.</summary>
internal sealed class RetriedStreamIdleTests() : RigFixture(RigKind.Shm)
{
    private const string PreviousAttemptsHeader = "grpc-previous-rpc-attempts";
    private const int Calls = 20;

    private static readonly RigOptions s_retrying = new()
    {
        Retries = new RigRetries(3, StatusCode.Unavailable) { Backoff = TimeSpan.FromMilliseconds(1) },
    };

    // Never reached in a test: only the timers matter.
    private static readonly TimeSpan s_neverReached = TimeSpan.FromHours(1);

    [Test]
    public async Task Attempts_OfStreamsThatSucceedAtLast_AreHeldByNothing(
        [Values] bool isDuplex, [Values] bool hasDeadline)
    {
        ShmRig rig = await StartShmAsync(
            new Script
            {
                ServerStream = (request, responses, context) =>
                {
                    FailTwice(context);
                    return responses.WriteAsync(request);
                },
                Duplex = (_, responses, context) =>
                {
                    FailTwice(context);
                    return responses.WriteAsync(Payloads.Empty);
                },
            },
            s_retrying);
        using var neverCancelled = new CancellationTokenSource();
        CallOptions options = hasDeadline
            ? new CallOptions(deadline: DateTime.UtcNow + s_neverReached)
            : new CallOptions(cancellationToken: neverCancelled.Token);
        var marshallers = new WeakReferences();

        for (int i = 0; i < Calls; i++)
        {
            await CallOnceAsync(rig.Invoker, isDuplex, options, marshallers);
        }

        // The channel keeps a reference to the method of its last call, so this call replaces it.
        rig.Client.Unary(Payloads.Empty);
        await Timeouts.Eventually(() => marshallers.CountAlive() == 0, "no timer or token holds an attempt");
        Assert.That(marshallers.Count, Is.EqualTo(Calls));
    }

    private static void FailTwice(ServerCallContext context)
    {
        if (context.RequestHeaders.GetValue(PreviousAttemptsHeader) != "2")
        {
            throw new RpcException(new Status(StatusCode.Unavailable, "not now"));
        }
    }

    // A test cannot reach attempts, but each one references the marshaller of its method, which is unique to this call.
    private static async Task CallOnceAsync(
        CallInvoker invoker, bool isDuplex, CallOptions options, WeakReferences marshallers)
    {
        Method<Payload, Payload> known = isDuplex ? Script.DuplexMethod : Script.ServerStreamMethod;
        var own = new Marshaller<Payload>(
            known.ResponseMarshaller.ContextualSerializer, known.ResponseMarshaller.ContextualDeserializer);
        marshallers.Add(own);
        var method = new Method<Payload, Payload>(
            known.Type, known.ServiceName, known.Name, known.RequestMarshaller, own);
        List<Payload> answers;
        if (isDuplex)
        {
            using AsyncDuplexStreamingCall<Payload, Payload> call =
                invoker.AsyncDuplexStreamingCall(method, null, options);
            answers = await call.ResponseStream.ToListAsync();
        }
        else
        {
            using AsyncServerStreamingCall<Payload> call =
                invoker.AsyncServerStreamingCall(method, null, options, Payloads.Empty);
            answers = await call.ResponseStream.ToListAsync();
        }

        Assert.That(answers, Has.Count.EqualTo(1));
    }
}
