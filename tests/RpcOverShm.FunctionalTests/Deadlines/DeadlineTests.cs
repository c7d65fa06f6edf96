namespace RpcOverShm.FunctionalTests.Deadlines;

[EveryRig]
internal sealed class DeadlineTests(RigKind kind) : RigFixture(kind)
{
    // Short for the test run, but long enough for a call to reach its handler first.
    private static readonly TimeSpan s_short = TimeSpan.FromMilliseconds(300);

    private static DateTime Soon => DateTime.UtcNow + s_short;

    [Test]
    public async Task Streams_PastDuringTheCall_AreDeadlineExceeded()
    {
        CallRig rig = await StartAsync(new Script
        {
            ServerStream = async (request, responses, context) =>
            {
                await responses.WriteAsync(request);
                await Task.Delay(Timeout.Infinite, context.CancellationToken);
            },
            ClientStream = (_, context) => NeverAsync(Payloads.Empty, context),
            Duplex = (_, _, context) => Task.Delay(Timeout.Infinite, context.CancellationToken),
        });
        await rig.Client.UnaryAsync(Payloads.Of("connected")).ResponseAsync.Bounded();
        var options = new CallOptions(deadline: Soon);

        using AsyncServerStreamingCall<Payload> serverStream = rig.Client.ServerStream(Payloads.Empty, options);
        using AsyncClientStreamingCall<Payload, Payload> clientStream = rig.Client.ClientStream(options);
        using AsyncDuplexStreamingCall<Payload, Payload> duplex = rig.Client.Duplex(options);
        RpcException[] failures =
        [
            await FailureOf(serverStream.ResponseStream.ToListAsync()),
            await FailureOf(clientStream.ResponseAsync),
            await FailureOf(duplex.ResponseStream.ToListAsync()),
        ];
        RpcException write = await FailureOf(duplex.RequestStream.WriteAsync(Payloads.Empty));

        Assert.That(
            failures.Append(write).Select(failure => failure.StatusCode), Is.All.EqualTo(StatusCode.DeadlineExceeded));
        Assert.That(serverStream.GetStatus().StatusCode, Is.EqualTo(StatusCode.DeadlineExceeded));
    }

    [Test]
    public async Task ManyAtOnce_EachEndsByItself()
    {
        CallRig rig = await StartAsync(new Script { Unary = NeverAsync });
        DateTime now = DateTime.UtcNow;

        RpcException[] failures = await Task.WhenAll(Enumerable.Range(0, 200).Select(i =>
            FailureOf(rig.Client.UnaryAsync(Payloads.Empty, new CallOptions(deadline: now.AddMilliseconds(100 + i))))));

        Assert.That(failures.Select(failure => failure.StatusCode), Is.All.EqualTo(StatusCode.DeadlineExceeded));
    }

    private static async Task<Payload> NeverAsync(Payload request, ServerCallContext context)
    {
        await Task.Delay(Timeout.Infinite, context.CancellationToken);
        return request;
    }
}
