using RpcOverShm.Diagnostics;
using RpcOverShm.FunctionalTests.Telemetry;

namespace RpcOverShm.FunctionalTests.Loans;

/// <summary>The counters of lent payloads. They are those of the process, so the tests compare.</summary>
[LinuxOnly("Windows passes no memory after the handshake, so nothing is lent there.")]
internal sealed class LoanCountTests : LoanFixture
{
    private TelemetryRecorder _recorder = null!;

    [SetUp]
    public async Task ListenAsync()
    {
        _recorder = new TelemetryRecorder();
        await Timeouts.Eventually(() => ReadAll() is { Lent: 0, Borrowed: 0 }, "earlier connections are over");
    }

    [TearDown]
    public void StopListening() => _recorder.Dispose();

    [Test]
    public async Task LentPayloads_AreCountedWithTheirBytesUntilTheyAreBack()
    {
        const int Length = MiB + 1;
        const int Block = 64 << 10;
        (ShmRig rig, ShmChannel channel) = await StartLendingAsync();
        (await CallAsync(channel, Length)).Dispose(); // so that both sides have mapped a file
        await AssertAllBackAsync(rig, channel);
        await Timeouts.Eventually(() => LoansOf(rig).Lent.MappedBytes >= Length);
        Counts before = ReadAll();

        ShmPayload response = await CallAsync(channel, Length);

        // The method has disposed its request, whose return may wait; and the response lies at this side.
        Counts now = ReadAll();
        Assert.That(now.LentMessages, Is.EqualTo(before.LentMessages + 2));
        Assert.That(now.CopiedMessages, Is.EqualTo(before.CopiedMessages));
        Assert.That(now.Borrowed, Is.EqualTo(Length));
        Assert.That(now.Lent, Is.GreaterThanOrEqualTo(MiB + Block), "In whole blocks.");
        response.Dispose();
        await AssertAllBackAsync(rig, channel);
        Assert.That(ReadAll(), Is.EqualTo(now with { Lent = 0, Borrowed = 0 }));
    }

    [Test]
    public async Task PayloadOfAnotherChannel_IsCountedAsCopied()
    {
        (_, ShmChannel channel) = await StartLendingAsync();
        ShmRig other = await StartShmAsync(Allowed, Methods.Build());
        using ShmPayload request = await RentAsync(channel, MiB);
        Counts before = ReadAll();

        // The answer is the payload that was received, which was not rented.
        using ShmPayload response = await Methods.EchoAsync(other.Invoker, MethodType.Unary, request).Bounded();

        Assert.That(ReadAll(), Is.EqualTo(before with { CopiedMessages = before.CopiedMessages + 1 }));
    }

    [Test]
    public async Task EndOfAConnection_EndsItsBytesOnLoan_ButNotThoseThatAreStillHeld()
    {
        (ShmRig rig, ShmChannel channel) = await StartLendingAsync();
        (await CallAsync(channel, MiB)).Dispose();
        await Timeouts.Eventually(() => LoansOf(rig).Lent.MappedBytes >= MiB);
        ShmPayload response = await CallAsync(channel, MiB);
        Assert.That(ReadAll().Borrowed, Is.EqualTo(MiB));

        await rig.Server.StopAsync(TimeSpan.Zero).Bounded();

        await Timeouts.Eventually(() => ReadAll().Lent == 0 && channel.State != ConnectivityState.Ready);
        Assert.That(ReadAll().Borrowed, Is.EqualTo(MiB));
        AssertFilled(response, MiB, 7);
        response.Dispose();
        Assert.That(ReadAll().Borrowed, Is.Zero);
    }

    private static async Task<ShmPayload> CallAsync(ShmChannel channel, int length)
    {
        using ShmPayload request = await RentAsync(channel, length);
        return await Methods.EchoAsync(channel.CreateCallInvoker(), MethodType.Unary, request).Bounded();
    }

    private Counts ReadAll() => new(
        _recorder.Read(TelemetryNames.PayloadsSent, "lent"),
        _recorder.Read(TelemetryNames.PayloadsSent, "copied"),
        _recorder.Read(TelemetryNames.PayloadsLent),
        _recorder.Read(TelemetryNames.PayloadsBorrowed));

    private sealed record Counts(long LentMessages, long CopiedMessages, long Lent, long Borrowed);
}
