namespace RpcOverShm.FunctionalTests.Headers;

/// <summary>
/// Text that must not be sent, and a null detail. Shared memory only: Grpc.Core throws "Call error: InvalidMetadata"
/// for control characters, ends calls with such trailers or without a detail as Cancelled, and then its shutdown
/// throws because of "pending batch completions".
/// </summary>
internal sealed class MetadataTextTests() : ItemFixture(RigKind.Shm)
{
    [TestCase("caf\u00e9")]
    [TestCase("line\nbreak")]
    [TestCase("null\0")]
    [TestCase("tab\t")]
    [TestCase("\u007f")]
    [TestCase("lone \uD800 half")]
    [Item("M09")]
    public async Task RequestTextThatIsNotPrintable_FailsItsCall(string value)
    {
        CallRig rig = await UseAsync(new Script());
        var options = new CallOptions(new Metadata { { "key", value } });

        RpcException[] failures = await FailuresOfEveryShapeAsync(rig, options);

        Assert.That(failures.Select(failure => failure.StatusCode), Is.All.EqualTo(StatusCode.Internal));
        Assert.That(failures.Select(failure => failure.Status.Detail), Is.All.Contains("'key'"));
    }

    [TestCase("caf\u00e9")]
    [TestCase("line\nbreak")]
    [Item("M09")]
    public async Task ResponseHeaderThatIsNotPrintable_ThrowsAndIsUnknownWhereNobodyCatchesIt(string value)
    {
        Exception? thrown = null;
        CallRig rig = await UseAsync(Everywhere(async context =>
        {
            thrown = await CatchAsync(() => context.WriteResponseHeadersAsync(new Metadata { { "key", value } }));
            if (thrown is not null)
            {
                throw thrown;
            }
        }));
        rig.Log.Expect(MethodThrew);

        RpcException[] failures = await FailuresOfEveryShapeAsync(rig);

        Assert.That(thrown, Is.InstanceOf<InvalidOperationException>());
        Assert.That(failures.Select(failure => failure.StatusCode), Is.All.EqualTo(StatusCode.Unknown));
    }

    [Test]
    [Item("M09")]
    public async Task ResponseHeaderThatIsNotPrintable_MayBeCaughtAndOthersSent()
    {
        CallRig rig = await UseAsync(Everywhere(async context =>
        {
            await CatchAsync(() => context.WriteResponseHeadersAsync(new Metadata { { "key", "line\nbreak" } }));
            await context.WriteResponseHeadersAsync(new Metadata { { "key", "right" } });
        }));

        using AsyncUnaryCall<Payload> call = rig.Client.UnaryAsync(Payloads.Empty);
        await call.ResponseAsync.Bounded();

        Assert.That((await call.ResponseHeadersAsync.Bounded()).GetValue("key"), Is.EqualTo("right"));
    }

    [TestCase("caf\u00e9")]
    [TestCase("line\nbreak")]
    [Item("M09")]
    public async Task TrailerThatIsNotPrintable_FailsItsCall(string value)
    {
        CallRig rig = await UseAsync(Everywhere(context =>
        {
            context.ResponseTrailers.Add("key", value);
            return Task.CompletedTask;
        }));

        RpcException[] failures = await FailuresOfEveryShapeAsync(rig);

        Assert.That(failures.Select(failure => failure.StatusCode), Is.All.EqualTo(StatusCode.Internal));
    }

    [Test]
    [Item("M12")]
    public async Task StatusDetailNull_BecomesEmpty()
    {
        CallRig rig = await UseAsync(Everywhere(
            _ => throw new RpcException(new Status(StatusCode.Aborted, null!))));

        RpcException[] failures = await FailuresOfEveryShapeAsync(rig);

        Assert.That(
            failures.Select(failure => failure.Status.Plain()), Is.All.EqualTo(new Status(StatusCode.Aborted, "")));
    }
}
