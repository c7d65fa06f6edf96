using System.Buffers;
using System.Runtime.InteropServices;
using RpcOverShm.FunctionalTests.RandomEnds;

namespace RpcOverShm.FunctionalTests.Codecs;

/// <summary>The memory of a payload: its kind, its owner and its lifetime.</summary>
internal sealed class PayloadTests() : RigFixture(RigKind.Shm)
{
    private const int MethodThrew = 301;
    private const int LargeObjectBytes = 85_000;

    private static readonly EchoMethods<ShmPayload> s_echo = new("test.Payloads", ShmPayload.Marshaller);

    [Test]
    public async Task Received_OfManyMegabytes_IsInNoLargeObject([Values] MethodType shape)
    {
        ShmRig rig = await StartShmAsync(RigOptions.AnySize, s_echo.Build());
        using ShmPayload request = ShmPayload.Wrap(new byte[5_000_000]);

        using ShmPayload echo = await s_echo.EchoAsync(rig.Invoker, shape, request).Bounded();

        Assert.That(echo.Length, Is.EqualTo(5_000_000));
        AssertNothingIsLarge(echo);
    }

    [Test]
    public async Task Received_IsTheUsersForAsLongAsItIsNotDisposed()
    {
        ShmRig rig = await StartShmAsync(RigOptions.AnySize, s_echo.Build());
        var kept = new List<ShmPayload>();
        for (byte i = 1; i <= 50; i++)
        {
            using ShmPayload request = ShmPayload.Wrap(Filled(100_000, i));
            kept.Add(await s_echo.EchoAsync(rig.Invoker, MethodType.Unary, request).Bounded());
        }

        for (byte i = 1; i <= 50; i++)
        {
            using ShmPayload echo = kept[i - 1];
            Assert.That(echo.ToArray(), Is.All.EqualTo(i));
        }
    }

    // Here, because the pool is the process's: fixtures that run beside others cannot count it.
    [Test]
    public async Task Array_OfOneRecord_GoesThroughNoPooledMemory()
    {
        var arrays = new EchoMethods<byte[]>("test.Arrays");
        RigOptions raw = RigOptions.AnySize with
        {
            ClientCodec = ShmRawCodec.Instance,
            ServerCodecs = [ShmRawCodec.Instance],
        };
        ShmRig rig = await StartShmAsync(raw, arrays.Build());
        byte[] message = new byte[8_000];
        await arrays.EchoAsync(rig.Invoker, MethodType.Unary, message).Bounded();
        using var pool = new PoolWatch();
        for (int i = 0; i < 100; i++)
        {
            await arrays.EchoAsync(rig.Invoker, MethodType.Unary, message).Bounded();
        }

        // A side that received into pooled memory would rent once per call.
        Assert.That(pool.RentedCount, Is.LessThan(50));
    }

    [Test]
    public async Task Disposed_OnBothSides_LeavesNothingRented()
    {
        ShmRig rig = await StartShmAsync(RigOptions.AnySize, s_echo.Build());
        using ShmPayload request = ShmPayload.Wrap(new byte[200_000]);
        using var pool = new PoolWatch();
        for (int i = 0; i < 100; i++)
        {
            (await s_echo.EchoAsync(rig.Invoker, MethodType.Unary, request).Bounded()).Dispose();
        }

        // Each call rents at least four arrays on each side; a side that keeps its own loses hundreds.
        Assert.That(pool.RentedCount, Is.GreaterThan(400));
        await Timeouts.Eventually(() => pool.Outstanding < 20, $"{pool} are given back");
    }

    // The marshaller cancels its own call, so the payload has been read when the cancel wins. One thread makes all
    // blocking calls, because a thread keeps the array of its heads for its next call.
    [TestCase(MethodType.Unary, true, 200_000)]
    [TestCase(MethodType.Unary, false, 200_000)]
    [TestCase(MethodType.ClientStreaming, false, 200_000)]
    [TestCase(MethodType.Unary, true, 10_000)]
    [TestCase(MethodType.Unary, false, 10_000)]
    [TestCase(MethodType.ClientStreaming, false, 10_000)]
    public async Task Read_JustAsACancelWins_LeavesNothingRented(MethodType shape, bool isBlocking, int bytes)
    {
        const int Calls = 100;
        ShmRig rig = await StartShmAsync(RigOptions.AnySize, s_echo.Build());
        using ShmPayload request = ShmPayload.Wrap(new byte[bytes]);
        var read = new List<ShmPayload>();
        using var pool = new PoolWatch();

        if (isBlocking)
        {
            await Timeouts.OnThread(() =>
            {
                for (int i = 0; i < Calls; i++)
                {
                    using var cancel = new CancellationTokenSource();
                    Method<ShmPayload, ShmPayload> method = CancellingWhenRead(shape, read, cancel);
                    var options = new CallOptions(cancellationToken: cancel.Token);
                    Assert.That(
                        () => rig.Invoker.BlockingUnaryCall(method, null, options, request),
                        Throws.TypeOf<RpcException>().With.Property("StatusCode").EqualTo(StatusCode.Cancelled));
                }
            });
        }
        else
        {
            for (int i = 0; i < Calls; i++)
            {
                using var cancel = new CancellationTokenSource();
                Method<ShmPayload, ShmPayload> method = CancellingWhenRead(shape, read, cancel);
                var options = new CallOptions(cancellationToken: cancel.Token);
                Task call = AnyCall.CallAsync(rig.Invoker, method, request, options);
                Assert.That((await FailureOf(call)).StatusCode, Is.EqualTo(StatusCode.Cancelled));
            }
        }

        Assert.That(read, Has.Count.EqualTo(Calls));
        Assert.That(pool.RentedCount, Is.GreaterThan(Calls));
        await Timeouts.Eventually(() => pool.Outstanding < 20, $"{pool} are given back");
        await Timeouts.Eventually(() => read.TrueForAll(IsDisposed), "every response is given back");
    }

    [Test]
    public async Task Returned_ByAMethod_IsDisposedByTheServer([Values] bool isTooLarge)
    {
        ShmPayload response = ShmPayload.CopyOf(new ReadOnlySequence<byte>(new byte[1000]));
        ShmRig rig = await StartShmAsync(
            new RigOptions { ServerMaxSend = isTooLarge ? 999 : null },
            ServerServiceDefinition.CreateBuilder()
                .AddMethod(
                    s_echo.Of(MethodType.Unary), (ShmPayload _, ServerCallContext _) => Task.FromResult(response))
                .Build());
        using ShmPayload request = ShmPayload.Wrap(default(ReadOnlyMemory<byte>));

        Task<ShmPayload> call = s_echo.EchoAsync(rig.Invoker, MethodType.Unary, request);
        if (isTooLarge)
        {
            rig.Log.Expect(MethodThrew);
            Assert.That((await FailureOf(call)).StatusCode, Is.EqualTo(StatusCode.ResourceExhausted));
        }
        else
        {
            using ShmPayload echo = await call.Bounded();
            Assert.That(echo.Length, Is.EqualTo(1000));
        }

        Assert.That(() => response.Bytes, Throws.TypeOf<ObjectDisposedException>());
    }

    [Test]
    public async Task Sent_IsStillItsOwners()
    {
        ShmRig rig = await StartShmAsync(RigOptions.AnySize, s_echo.Build());
        using ShmPayload request = ShmPayload.CopyOf(new ReadOnlySequence<byte>(Filled(1000, 7)));

        (await s_echo.EchoAsync(rig.Invoker, MethodType.Unary, request).Bounded()).Dispose();

        Assert.That(request.ToArray(), Has.Length.EqualTo(1000).And.All.EqualTo(7));
    }

    [Test]
    public async Task Sent_AfterItWasDisposed_FailsItsCallAlone()
    {
        ShmRig rig = await StartShmAsync(RigOptions.AnySize, s_echo.Build());
        ShmPayload disposed = ShmPayload.Wrap(new byte[10]);
        disposed.Dispose();
        using ShmPayload next = ShmPayload.Wrap(new byte[10]);

        RpcException failure = await FailureOf(s_echo.EchoAsync(rig.Invoker, MethodType.Unary, disposed));
        using ShmPayload echo = await s_echo.EchoAsync(rig.Invoker, MethodType.Unary, next).Bounded();

        Assert.That(failure.StatusCode, Is.EqualTo(StatusCode.Internal));
        Assert.That(failure.Status.DebugException, Is.TypeOf<ObjectDisposedException>());
        Assert.That(echo.Length, Is.EqualTo(10));
    }

    [Test]
    public void Disposed_Twice_GivesItsMemoryBackOnce()
    {
        ShmPayload payload = ShmPayload.CopyOf(new ReadOnlySequence<byte>(Filled(100, 1)));

        payload.Dispose();
        payload.Dispose();
        using ShmPayload one = ShmPayload.CopyOf(new ReadOnlySequence<byte>(Filled(100, 2)));
        using ShmPayload other = ShmPayload.CopyOf(new ReadOnlySequence<byte>(Filled(100, 3)));

        Assert.That(one.ToArray(), Is.All.EqualTo(2));
        Assert.That(other.ToArray(), Is.All.EqualTo(3));
        Assert.That(() => payload.Length, Throws.TypeOf<ObjectDisposedException>());
        Assert.That(() => payload.ToArray(), Throws.TypeOf<ObjectDisposedException>());
    }

    [Test]
    public async Task Disposed_ByTwoThreadsAtOnce_GivesItsMemoryBackOnce()
    {
        const int Rounds = 50_000;
        const int Offsets = 40;
        byte[] bytes = new byte[3000];
        byte[][] rented = new byte[2][];
        ShmPayload? payload = null;
        int met = 0;
        int lentTwice = 0;

        await Task.WhenAll(Timeouts.OnThread(() => Run(0)), Timeouts.OnThread(() => Run(1))).Bounded();

        Assert.That(lentTwice, Is.Zero);

        void Run(int thread)
        {
            for (int i = 0; i < Rounds; i++)
            {
                payload = thread == 0 ? ShmPayload.CopyOf(new ReadOnlySequence<byte>(bytes)) : payload;
                Meet(offset: 0);
                Meet(offset: i % Offsets);
                payload!.Dispose();

                // The pool rents an array that was returned twice to both threads.
                rented[thread] = ArrayPool<byte>.Shared.Rent(bytes.Length);
                Meet(offset: 0);
                lentTwice += thread == 0 && ReferenceEquals(rented[0], rented[1]) ? 1 : 0;
            }
        }

        // The last thread goes on at once; the offset makes up for the time that the other thread needs to notice.
        void Meet(int offset)
        {
            int mine = Interlocked.Increment(ref met);
            int both = (mine + 1) & ~1;
            SpinWait spin = default;
            while (Volatile.Read(ref met) < both)
            {
                spin.SpinOnce(sleep1Threshold: -1);
            }

            for (int i = 0; mine == both && i < offset; i++)
            {
                _ = Volatile.Read(ref met);
            }
        }
    }

    [Test]
    public async Task Received_ThatWasCompressed_IsInNoLargeObject()
    {
        ShmRig rig = await StartShmAsync(
            RigOptions.AnySize with { ResponseCompression = "gzip" }, s_echo.Build());
        using ShmPayload request = ShmPayload.Wrap(new byte[1_000_000]);

        using ShmPayload echo = await s_echo.EchoAsync(rig.Invoker, MethodType.Unary, request).Bounded();

        Assert.That(echo.Length, Is.EqualTo(1_000_000));
        AssertNothingIsLarge(echo);
    }

    [Test]
    public void Copy_OfPieces_IsWholeAndInNoLargeObject([Values(1, 100, 65_536, 1_000_000)] int pieceBytes)
    {
        byte[] bytes = BytePattern.Of(1_000_000);

        using ShmPayload copy = ShmPayload.CopyOf(Pieces.Of(bytes, pieceBytes));

        SameBytes.Assert(copy.ToArray(), bytes);
        AssertNothingIsLarge(copy);
    }

    [Test]
    public async Task ReadAsync_OfAFile_GivesItPieceByPiece()
    {
        byte[] file = BytePattern.Of(300_000);
        using var from = new MemoryStream(file);
        using var to = new MemoryStream();
        var lengths = new List<long>();
        long length;
        do
        {
            using ShmPayload piece = await ShmPayload.ReadAsync(from, 128 << 10);
            length = piece.Length;
            lengths.Add(length);
            AssertNothingIsLarge(piece);
            await piece.CopyToAsync(to);
        }
        while (length > 0);

        Assert.That(lengths, Is.EqualTo(new long[] { 128 << 10, 128 << 10, 300_000 - (256 << 10), 0 }));
        SameBytes.Assert(to.ToArray(), file);
    }

    [Test]
    public void ReadAsync_WithBadArguments_SaysSo()
    {
        Assert.That(
            async () => await ShmPayload.ReadAsync(Stream.Null, 0), Throws.TypeOf<ArgumentOutOfRangeException>());
        Assert.That(async () => await ShmPayload.ReadAsync(null!, 1), Throws.ArgumentNullException);
        Assert.That(
            async () => await ShmPayload.ReadAsync(Stream.Null, 1, new CancellationToken(canceled: true)),
            Throws.InstanceOf<OperationCanceledException>());
    }

    private static Method<ShmPayload, ShmPayload> CancellingWhenRead(
        MethodType shape, List<ShmPayload> read, CancellationTokenSource cancel)
    {
        Method<ShmPayload, ShmPayload> method = s_echo.Of(shape);
        Marshaller<ShmPayload> responses = Marshallers.Create(
            ShmPayload.Marshaller.ContextualSerializer,
            context =>
            {
                read.Add(ShmPayload.Marshaller.ContextualDeserializer(context));
                cancel.Cancel();
                return read[^1];
            });
        return new(shape, method.ServiceName, method.Name, ShmPayload.Marshaller, responses);
    }

    private static bool IsDisposed(ShmPayload payload)
    {
        try
        {
            return payload.Length < 0;
        }
        catch (ObjectDisposedException)
        {
            return true;
        }
    }

    private static byte[] Filled(int length, byte value)
    {
        byte[] bytes = new byte[length];
        bytes.AsSpan().Fill(value);
        return bytes;
    }

    private static void AssertNothingIsLarge(ShmPayload payload)
    {
        foreach (ReadOnlyMemory<byte> memory in payload.Bytes)
        {
            Assert.That(MemoryMarshal.TryGetArray(memory, out ArraySegment<byte> segment));
            Assert.That(segment.Array, Has.Length.LessThan(LargeObjectBytes));
        }
    }
}
