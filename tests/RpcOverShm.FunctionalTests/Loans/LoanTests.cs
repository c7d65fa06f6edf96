using System.Buffers;
using System.Runtime.CompilerServices;
using RpcOverShm.Scheduling;

namespace RpcOverShm.FunctionalTests.Loans;

/// <summary>Payloads that are read where their sender has written them.</summary>
[LinuxOnly("Windows passes no memory after the handshake, so nothing is lent there.")]
internal sealed class LoanTests : LoanFixture
{
    private const int Leaked = 120;
    private const int LimitReached = 109;
    private const int NotShared = 121;

    private static ShmMethodConfig Retried => new()
    {
        Names = { new ShmMethodName() },
        RetryPolicy = new ShmRetryPolicy
        {
            MaxAttempts = 2,
            InitialBackoff = TimeSpan.FromMilliseconds(1),
            MaxBackoff = TimeSpan.FromMilliseconds(1),
            BackoffMultiplier = 1,
            RetryableStatusCodes = { StatusCode.DataLoss },
        },
    };

    [Test]
    public async Task Payload_RentedOnBothSides_IsReadInPlaceAndComesBack(
        [Values] MethodType shape, [Values(64 << 10, (1 << 20) + 1, 16 << 20)] int length)
    {
        (ShmRig rig, ShmChannel channel) = await StartLendingAsync();
        for (byte round = 1; round <= 3; round++)
        {
            using ShmPayload request = await RentAsync(channel, length, round);
            using ShmPayload response = await Methods.EchoAsync(channel.CreateCallInvoker(), shape, request).Bounded();

            AssertFilled(response, length, round);
            Assert.That((IsShared(request), WasRequestLent), Is.EqualTo((true, true)));
            Assert.That(round == 1 || IsShared(response), "The client has mapped the file of the first response.");
            request.Dispose();
            response.Dispose();
            await AssertAllBackAsync(rig, channel);
            await Timeouts.Eventually(() => LoansOf(rig).Lent.MappedBytes >= length);
        }
    }

    // To make the file takes long, and then the loop has other connections.
    [Test]
    public async Task Rent_OfANewFileOnALoop_LeavesTheLoopToAnotherThread()
    {
        var left = new List<bool?>();
        ServerServiceDefinition service = ServerServiceDefinition.CreateBuilder()
            .AddMethod(Methods.Of(MethodType.Unary), (request, context) =>
            {
                using ShmPayload file = context.RentPayload(MiB);
                left.Add(LoopThread.Current?.HasLostLoop);
                return Task.FromResult(request);
            })
            .Build();
        (_, ShmChannel channel) = await StartLendingAsync(
            Allowed with { Scheduling = ShmSchedulingMode.Inline }, service: service);

        for (int i = 0; i < 2; i++)
        {
            using var request = ShmPayload.Wrap(new byte[1]);
            (await Methods.EchoAsync(channel.CreateCallInvoker(), MethodType.Unary, request).Bounded()).Dispose();
        }

        Assert.That(left, Is.EqualTo(new bool?[] { true, false }), "The second one is of the same file.");
    }

    [Test]
    public async Task Payload_OfABlockingCall_IsReadInPlace()
    {
        (ShmRig rig, ShmChannel channel) = await StartLendingAsync();
        using ShmPayload request = await RentAsync(channel, MiB);

        await Timeouts.OnThread(() =>
        {
            using ShmPayload response = channel.CreateCallInvoker().BlockingUnaryCall(
                Methods.Of(MethodType.Unary), null, default, request);
            AssertFilled(response, MiB, 7);
        });

        Assert.That(WasRequestLent);
        request.Dispose();
        await AssertAllBackAsync(rig, channel);
    }

    [Test]
    public async Task Payload_WithoutTheOptionOnOneSide_IsCopied([Values] bool isServerWilling)
    {
        ShmRig rig;
        ShmChannel channel;
        if (isServerWilling)
        {
            (rig, channel) = await StartLendingAsync(change: options => options.Loans.AllowLoanedPayloads = false);
        }
        else
        {
            (rig, channel) = await StartLendingAsync(RigOptions.AnySize);
        }

        using ShmPayload request = channel.RentPayload(3 * MiB);
        Assert.That(request.ToArray(), Is.All.Zero, "Private memory has nothing of other messages.");
        request.Memory.Span.Fill(9);
        using ShmPayload response =
            await Methods.EchoAsync(channel.CreateCallInvoker(), MethodType.Unary, request).Bounded();

        AssertFilled(response, 3 * MiB, 9);
        Assert.That((IsShared(request), WasRequestLent, IsShared(response)), Is.EqualTo((false, false, false)));
        Assert.That(rig.OnlyConnection.Loans, Is.Null);
        Assert.That(channel.Connections.Current!.Loans, Is.Null);
    }

    [Test]
    public async Task Payload_OfLessThanABlock_IsCopied([Values(1, (64 << 10) - 1)] int length)
    {
        (ShmRig rig, ShmChannel channel) = await StartLendingAsync();
        using ShmPayload request = channel.RentPayload(length);
        request.Memory.Span.Fill(3);

        using ShmPayload response =
            await Methods.EchoAsync(channel.CreateCallInvoker(), MethodType.DuplexStreaming, request).Bounded();

        AssertFilled(response, length, 3);
        Assert.That((WasRequestLent, IsShared(response)), Is.EqualTo((false, false)));
        await AssertAllBackAsync(rig, channel);
    }

    [Test]
    public async Task Payload_OfAnotherChannel_IsCopied()
    {
        (_, ShmChannel channel) = await StartLendingAsync();
        ShmRig other = await StartShmAsync(Allowed, Methods.Build());
        using ShmPayload request = await RentAsync(channel, MiB);

        using ShmPayload response = await Methods.EchoAsync(other.Invoker, MethodType.Unary, request).Bounded();

        AssertFilled(response, MiB, 7);
        Assert.That(PoolOf(channel).LentBytes, Is.Zero);
    }

    [Test]
    public async Task Payload_OfACallWithCompressionOrRetries_IsCopied([Values] bool isRetried)
    {
        const int Length = MiB / 2; // what has no room in the retry buffer is not retried
        (ShmRig rig, ShmChannel channel) = await StartLendingAsync(
            Allowed with { ResponseCompression = isRetried ? null : "gzip" },
            options => options.ServiceConfig = isRetried
                ? new ShmServiceConfig { MethodConfigs = { Retried } }
                : null);
        using ShmPayload request = await RentAsync(channel, Length);

        using ShmPayload response =
            await Methods.EchoAsync(channel.CreateCallInvoker(), MethodType.Unary, request).Bounded();

        AssertFilled(response, Length, 7);
        Assert.That(WasRequestLent, Is.EqualTo(!isRetried));
        Assert.That(isRetried || !IsShared(response), "The encoded response.");
        request.Dispose();
        response.Dispose();
        await AssertAllBackAsync(rig, channel);
    }

    [Test]
    public async Task Payload_ThatIsForwarded_IsCopied([Values] MethodType shape)
    {
        ShmRig rig = await StartShmAsync(Allowed, Methods.Build());
        ShmChannel channel = rig.OpenChannel(options => options.Loans.AllowLoanedPayloads = true);
        await channel.ConnectAsync().Bounded();
        using ShmPayload request = await RentAsync(channel, MiB);

        // The service answers with the very payload that it has received.
        using ShmPayload response = await Methods.EchoAsync(channel.CreateCallInvoker(), shape, request).Bounded();

        AssertFilled(response, MiB, 7);
        Assert.That(IsShared(response), Is.False);
        request.Dispose();
        await AssertAllBackAsync(rig, channel);
    }

    [Test]
    public async Task Payload_ThatIsSentTwice_IsFreeWhenAllHaveDisposedIt()
    {
        (ShmRig rig, ShmChannel channel) = await StartLendingAsync();
        ShmPayload request = await RentAsync(channel, MiB);
        CallInvoker invoker = channel.CreateCallInvoker();

        ShmPayload[] responses = await Task.WhenAll(Enumerable.Range(0, 20).Select(
            _ => Methods.EchoAsync(invoker, MethodType.Unary, request))).Bounded();
        long before = PoolOf(channel).TakenBytes;
        request.Dispose();

        foreach (ShmPayload response in responses)
        {
            AssertFilled(response, MiB, 7);
            response.Dispose();
            response.Dispose();
        }

        Assert.That(before, Is.EqualTo(MiB));
        await AssertAllBackAsync(rig, channel);
    }

    [Test]
    public async Task Memory_OfAPayload_IsWritableUntilItIsSent([Values(100, MiB)] int length)
    {
        (_, ShmChannel channel) = await StartLendingAsync();
        using ShmPayload request = channel.RentPayload(length);
        Memory<byte> memory = request.Memory;
        using ShmPayload response =
            await Methods.EchoAsync(channel.CreateCallInvoker(), MethodType.Unary, request).Bounded();

        Assert.That(memory.Length, Is.EqualTo(length));
        Assert.That(() => request.Memory, Throws.InvalidOperationException.With.Message.Contains("was sent"));
        Assert.That(() => response.Memory, Throws.InvalidOperationException.With.Message.Contains("not rented"));
        Assert.That(request.Length, Is.EqualTo(length), "It stays readable.");
        request.Dispose();
        Assert.That(() => request.Memory, Throws.TypeOf<ObjectDisposedException>());
        Assert.That(() => channel.RentPayload(0), Throws.TypeOf<ArgumentOutOfRangeException>());
    }

    [Test]
    public async Task Bytes_AfterTheDisposal_ThrowInsteadOfBeingRead()
    {
        (_, ShmChannel channel) = await StartLendingAsync();
        ShmPayload payload = await RentAsync(channel, MiB);
        ReadOnlySequence<byte> bytes = payload.Bytes;
        payload.Dispose();

        Assert.That(() => bytes.ToArray(), Throws.TypeOf<ObjectDisposedException>());
        Assert.That(() => bytes.First.Pin(), Throws.TypeOf<ObjectDisposedException>());
    }

    [Test]
    public async Task Received_AfterTheEndOfTheConnection_StaysReadable()
    {
        (ShmRig rig, ShmChannel channel) = await StartLendingAsync();
        using ShmPayload response = await EchoUntilLentAsync(rig, channel);
        using ShmPayload unsent = channel.RentPayload(MiB);
        unsent.Memory.Span.Fill(5);

        await rig.Server.StopAsync(TimeSpan.Zero).Bounded();
        await Timeouts.Eventually(() => channel.State != ConnectivityState.Ready);

        Assert.That(IsShared(response));
        AssertFilled(response, MiB, 7);
        AssertFilled(unsent, MiB, 5);
    }

    [Test]
    public async Task Rent_BeyondTheLimitOfTheConnection_FailsUntilTheReceiverDisposes()
    {
        (ShmRig rig, ShmChannel channel) = await StartLendingAsync(
            change: options => options.Loans.MaxConnectionSize = 3 * MiB);
        rig.Log.Expect(LimitReached);
        ShmPayload[] rented = [.. Enumerable.Range(0, 3).Select(_ => channel.RentPayload(MiB))];

        var failure = Assert.Throws<RpcException>(() => channel.RentPayload(64 << 10))!;
        rented[1].Dispose();
        using ShmPayload again = channel.RentPayload(MiB);

        Assert.That(failure.StatusCode, Is.EqualTo(StatusCode.ResourceExhausted));
        Assert.That(
            failure.Status.Detail,
            Does.Contain("Loans.MaxConnectionSize, which is 3145728 bytes").And.Contains("3145728 bytes are rented"));
        rented[0].Dispose();
        rented[2].Dispose();
    }

    [Test]
    public async Task Rent_BeyondTheLimitOfTheProcess_IsPrivateMemoryAndNamesIt()
    {
        (ShmRig rig, ShmChannel channel) = await StartLendingAsync(
            change: static options => options.Loans.MaxSize = MiB);

        using ShmPayload request = channel.RentPayload(16 * MiB);
        request.Memory.Span.Fill(8);
        LogEntry entry = await rig.Log.WaitForAsync(NotShared);
        using ShmPayload response =
            await Methods.EchoAsync(channel.CreateCallInvoker(), MethodType.Unary, request).Bounded();

        Assert.That(entry.Message, Does.Contain("Loans.MaxSize, which is 1048576 bytes, is reached"));
        Assert.That((IsShared(request), WasRequestLent), Is.EqualTo((false, false)));
        AssertFilled(response, 16 * MiB, 8);
    }

    [Test]
    public async Task Payload_InAFileThatThePeerDoesNotMap_IsCopied()
    {
        ShmRig rig = await StartShmAsync(
            Allowed with
            {
                Server = static options =>
                {
                    options.Loans.AllowLoanedPayloads = true;
                    options.Loans.MaxConnectionSize = MiB;
                },
            },
            Methods.Build());
        ShmChannel channel = rig.OpenChannel(options => options.Loans.AllowLoanedPayloads = true);
        await channel.ConnectAsync().Bounded();
        using ShmPayload request = channel.RentPayload(2 * MiB);
        request.Memory.Span.Fill(4);
        LogEntry entry = await rig.Log.WaitForAsync(NotShared);
        using ShmPayload response =
            await Methods.EchoAsync(channel.CreateCallInvoker(), MethodType.Unary, request).Bounded();
        using ShmPayload next = channel.RentPayload(2 * MiB);

        AssertFilled(response, 2 * MiB, 4);
        Assert.That(entry.Message, Does.Contain("Loans.MaxConnectionSize, which is 1048576 bytes"));
        Assert.That((IsShared(request), IsShared(next)), Is.EqualTo((true, false)));
        Assert.That(PoolOf(channel).LentBytes, Is.Zero);
    }

    [Test]
    public async Task Payload_ThatNobodyDisposes_ComesBackByTheCollectorAndIsLogged()
    {
        (ShmRig rig, ShmChannel channel) = await StartLendingAsync();
        rig.Log.Expect(Leaked);
        await LoseResponseAsync(rig, channel);

        await Timeouts.Eventually(() =>
        {
            GC.Collect();
            GC.WaitForPendingFinalizers();
            return LoansOf(rig).Lent.TakenBytes == 0;
        });

        LogEntry entry = await rig.Log.WaitForAsync(Leaked);
        Assert.That(entry.Message, Does.Contain("a payload of 1048576 bytes"));
        Assert.That(channel.Connections.Current!.Loans!.Leaks, Is.Positive);
    }

    [Test]
    public async Task Stream_ThatIsCancelledWithLoansUnderWay_LosesNone()
    {
        (ShmRig rig, ShmChannel channel) = await StartLendingAsync(
            Allowed with { RingCapacity = 64 << 10 }, options => options.Loans.MaxConnectionSize = 512L * MiB);
        for (int round = 0; round < 10; round++)
        {
            using AsyncDuplexStreamingCall<ShmPayload, ShmPayload> call =
                channel.CreateCallInvoker().AsyncDuplexStreamingCall(
                    Methods.Of(MethodType.DuplexStreaming), null, default);
            for (int i = 0; i < 50; i++)
            {
                using ShmPayload request = await RentAsync(channel, 64 << 10);
                await call.RequestStream.WriteAsync(request).Bounded();
                if (i < 10 * round && await call.ResponseStream.MoveNext().Bounded())
                {
                    call.ResponseStream.Current.Dispose();
                }
            }
        }

        await AssertAllBackAsync(rig, channel);
    }

    // The server's file may not be mapped yet, or its place not be free yet, so that there is a second file.
    private static async Task<ShmPayload> EchoUntilLentAsync(ShmRig rig, ShmChannel channel)
    {
        for (int calls = 1; ; calls++)
        {
            using ShmPayload request = await RentAsync(channel, MiB);
            ShmPayload response =
                await Methods.EchoAsync(channel.CreateCallInvoker(), MethodType.Unary, request).Bounded();
            if (calls == 20 || IsShared(response))
            {
                return response;
            }

            response.Dispose();
            await Timeouts.Eventually(() => LoansOf(rig).Lent.MappedBytes >= MiB);
        }
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static async Task LoseResponseAsync(ShmRig rig, ShmChannel channel) =>
        Assert.That(IsShared(await EchoUntilLentAsync(rig, channel)));
}
