using Google.Rpc;
using Grpc.Core.Interceptors;

namespace RpcOverShm.FunctionalTests.Faults;

/// <summary>Failures whose details are larger than the metadata that the client takes.</summary>
internal sealed class FaultLimitTests() : RigFixture(RigKind.Shm)
{
    private const int LimitReached = 109;
    private const int Limit = 4000;

    [TestCaseSource(typeof(AnyCall), nameof(AnyCall.Shapes))]
    public async Task DetailsBeyondTheLimit_AreLeftOutAndTheStatusSaysSo(MethodType shape)
    {
        ShmRig rig = await StartAsync(orderLength: Limit + 1, trailer: "kept");

        using AnyCall call = AnyCall.Start(rig.Channel.Intercept(SampleFaults.Client), shape);
        RpcException failure = await FailureOf(call.Outcome);

        Assert.That(failure.StatusCode, Is.EqualTo(StatusCode.NotFound));
        Assert.That(
            failure.Status.Detail, Does.StartWith("none (").And.Contains($"{Limit}").And.Contains("MaxMetadataSize"));
        Assert.That(failure.GetRpcStatus(), Is.Null);
        Assert.That(failure.Trailers.GetValue("of-the-method"), Is.EqualTo("kept"));
        Assert.That(
            (await rig.Log.WaitForAsync(LimitReached)).Message,
            Does.Contain("MaxMetadataSize").And.Contains("without its details"));
    }

    [Test]
    public async Task DetailsBelowTheLimit_Arrive()
    {
        ShmRig rig = await StartAsync(orderLength: Limit / 2, trailer: "kept");

        Exception? typed = await Thrown.InAllAsync(
            () => AnyCall.Start(rig.Channel.Intercept(SampleFaults.Client), MethodType.Unary).Outcome);

        Assert.That(((OrderMissingException)typed!).Order, Has.Length.EqualTo(Limit / 2));
    }

    [Test]
    public async Task OtherTrailersBeyondTheLimit_AreResourceExhausted()
    {
        ShmRig rig = await StartAsync(orderLength: Limit + 1, trailer: new string('x', Limit));

        RpcException failure = await FailureOf(rig.Client.UnaryAsync(Payloads.Empty));

        Assert.That(failure.StatusCode, Is.EqualTo(StatusCode.ResourceExhausted));
    }

    [Test]
    public async Task DetailsOfASuccessBeyondTheLimit_AreResourceExhausted()
    {
        ShmRig rig = await StartShmAsync(
            Everywhere(context =>
            {
                var info = new ErrorInfo { Reason = new string('x', Limit) };
                context.ResponseTrailers.SetRpcStatus(new Google.Rpc.Status { Details = { Any(info) } });
                return Task.CompletedTask;
            }),
            new RigOptions { ClientMaxMetadata = Limit });

        RpcException failure = await FailureOf(rig.Client.UnaryAsync(Payloads.Empty));

        Assert.That(failure.StatusCode, Is.EqualTo(StatusCode.ResourceExhausted));
    }

    private static Google.Protobuf.WellKnownTypes.Any Any(Google.Protobuf.IMessage message) =>
        Google.Protobuf.WellKnownTypes.Any.Pack(message);

    private Task<ShmRig> StartAsync(int orderLength, string trailer) => StartShmAsync(
        Everywhere(context =>
        {
            context.ResponseTrailers.Add("of-the-method", trailer);
            throw new OrderMissingException(new string('o', orderLength), "none");
        }),
        SampleFaults.Options with { ClientMaxMetadata = Limit });
}
