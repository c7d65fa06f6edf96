using System.Globalization;

namespace RpcOverShm.FunctionalTests.Cancellation;

/// <summary>Calls that are disposed while their response is being transferred.</summary>
internal sealed class GivenUpAnswerTests() : RigFixture(RigKind.Shm)
{
    // The method has returned, but most of its response is still to come. A call that completes first does not count.
    [TestCase(3)]
    [TestCase(20, Category = LongAttribute.Name)]
    public async Task LargeResponse_OfACallThatIsDisposed_FreesTheCallOnBothSides(int most)
    {
        ShmRig rig = await StartShmAsync(
            new Script
            {
                Unary = (request, _) => Task.FromResult(
                    Payloads.OfSize(int.Parse(request.Text(), CultureInfo.InvariantCulture))),
            },
            RigOptions.AnySize);

        int cutOff = 0;
        for (int calls = 0; cutOff < most; calls++)
        {
            Assert.That(calls, Is.LessThan(1000), "Some calls are faster than their answer.");
            AsyncUnaryCall<Payload> call = rig.Client.UnaryAsync(Payloads.Of("30000000"));
            await call.ResponseHeadersAsync.Bounded();
            call.Dispose();
            if (call.GetStatus().StatusCode == StatusCode.OK)
            {
                Assert.That((await call.ResponseAsync.Bounded()).IsOfSize(30_000_000));
                continue;
            }

            Assert.That((await FailureOf(call)).StatusCode, Is.EqualTo(StatusCode.Cancelled));
            cutOff++;
        }

        await Timeouts.Eventually(() => rig.OnlyConnection.IncomingCount == 0, "the server has forgotten the calls");
        Assert.That((await rig.Client.UnaryAsync(Payloads.Of("10")).ResponseAsync.Bounded()).IsOfSize(10));
    }
}
