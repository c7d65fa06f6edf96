using RpcOverShm.Diagnostics;
using RpcOverShm.FunctionalTests.Telemetry;

namespace RpcOverShm.FunctionalTests.Loans;

/// <summary>The same code where loans are not allowed on both sides: payloads are copied.</summary>
[TestFixture(false, false)]
[TestFixture(true, false)]
[TestFixture(false, true)]
internal sealed class CopiedPayloadTests(bool isServerWilling, bool isClientWilling) : LoanFixture
{
    [Test]
    public async Task Payload_OfEveryShape_IsCopied(
        [Values] MethodType shape, [Values(1, (64 << 10) - 1, 64 << 10, (3 * MiB) + 1)] int length)
    {
        (ShmRig rig, ShmChannel channel) = await StartAsync();
        for (byte round = 1; round <= 2; round++)
        {
            using ShmPayload request = Filled(channel, length, round);
            using ShmPayload response =
                await Methods.EchoAsync(channel.CreateCallInvoker(), shape, request).Bounded();

            AssertFilled(response, length, round);
            AssertFilled(request, length, round);
            Assert.That((IsShared(request), WasRequestLent, IsShared(response)), Is.EqualTo((false, false, false)));
        }

        Assert.That(rig.OnlyConnection.Loans, Is.Null);
        Assert.That(channel.Connections.Current!.Loans, Is.Null);
    }

    [Test]
    public async Task Payload_OfABlockingCall_IsCopied()
    {
        (_, ShmChannel channel) = await StartAsync();
        using ShmPayload request = Filled(channel, MiB, 7);

        await Timeouts.OnThread(() =>
        {
            using ShmPayload response = channel.CreateCallInvoker().BlockingUnaryCall(
                Methods.Of(MethodType.Unary), null, default, request);
            AssertFilled(response, MiB, 7);
        });
    }

    [Test]
    public async Task Payload_ThatIsSentTwiceAndDisposedTwice_HasItsBytesEachTime()
    {
        (_, ShmChannel channel) = await StartAsync();
        ShmPayload request = Filled(channel, MiB, 5);
        CallInvoker invoker = channel.CreateCallInvoker();

        ShmPayload[] responses = await Task.WhenAll(Enumerable.Range(0, 10).Select(
            _ => Methods.EchoAsync(invoker, MethodType.Unary, request))).Bounded();
        request.Dispose();
        request.Dispose();

        foreach (ShmPayload response in responses)
        {
            AssertFilled(response, MiB, 5);
            response.Dispose();
            response.Dispose();
        }
    }

    [Test]
    public async Task Memory_OfAPayload_HasTheRulesOfLentOnes()
    {
        (_, ShmChannel channel) = await StartAsync();
        using ShmPayload request = channel.RentPayload(MiB);
        Assert.That(request.ToArray(), Is.All.Zero, "Private memory has nothing of other messages.");
        using ShmPayload response =
            await Methods.EchoAsync(channel.CreateCallInvoker(), MethodType.Unary, request).Bounded();

        Assert.That(() => request.Memory, Throws.InvalidOperationException.With.Message.Contains("was sent"));
        Assert.That(() => response.Memory, Throws.InvalidOperationException.With.Message.Contains("not rented"));
        request.Dispose();
        Assert.That(() => request.Memory, Throws.TypeOf<ObjectDisposedException>());
        Assert.That(() => request.Bytes, Throws.TypeOf<ObjectDisposedException>());
    }

    [Test]
    public async Task Rent_BeyondTheLimits_IsPrivateMemory()
    {
        (_, ShmChannel channel) = await StartAsync();

        ShmPayload[] rented = [.. Enumerable.Range(0, 5).Select(_ => channel.RentPayload(MiB))];

        Assert.That(rented.Select(IsShared), Is.All.False);
        Array.ForEach(rented, payload => payload.Dispose());
    }

    [Test]
    public async Task Received_AfterTheEndOfTheConnection_StaysReadable()
    {
        (ShmRig rig, ShmChannel channel) = await StartAsync();
        using ShmPayload request = Filled(channel, MiB, 6);
        using ShmPayload response =
            await Methods.EchoAsync(channel.CreateCallInvoker(), MethodType.Unary, request).Bounded();

        await rig.Server.StopAsync(TimeSpan.Zero).Bounded();
        await Timeouts.Eventually(() => channel.State != ConnectivityState.Ready);

        AssertFilled(response, MiB, 6);
        AssertFilled(request, MiB, 6);
    }

    [TestCase((64 << 10) - 1, 0)]
    [TestCase(64 << 10, 2)]
    public async Task Payload_ThatIsCopied_IsCountedIfItCouldBeLent(int length, int counted)
    {
        using var recorder = new TelemetryRecorder();
        (_, ShmChannel channel) = await StartAsync();
        long copied = recorder.Read(TelemetryNames.PayloadsSent, "copied");
        long lent = recorder.Read(TelemetryNames.PayloadsSent, "lent");
        using ShmPayload request = Filled(channel, length, 1);
        using ShmPayload response =
            await Methods.EchoAsync(channel.CreateCallInvoker(), MethodType.Unary, request).Bounded();

        Assert.That(recorder.Read(TelemetryNames.PayloadsSent, "copied"), Is.EqualTo(copied + counted));
        Assert.That(recorder.Read(TelemetryNames.PayloadsSent, "lent"), Is.EqualTo(lent));
    }

    private static ShmPayload Filled(ShmChannel channel, int length, byte fill)
    {
        ShmPayload payload = channel.RentPayload(length);
        payload.Memory.Span.Fill(fill);
        return payload;
    }

    private Task<(ShmRig Rig, ShmChannel Channel)> StartAsync() => StartLendingAsync(
        RigOptions.AnySize with
        {
            Server = options =>
            {
                options.Loans.AllowLoanedPayloads = isServerWilling;
                options.Loans.MaxConnectionSize = MiB;
            },
        },
        options =>
        {
            options.Loans.AllowLoanedPayloads = isClientWilling;
            options.Loans.MaxConnectionSize = MiB;
        });
}
