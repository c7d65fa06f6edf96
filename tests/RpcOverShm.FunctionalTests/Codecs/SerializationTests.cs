using System.Buffers;
using System.Runtime.InteropServices;

namespace RpcOverShm.FunctionalTests.Codecs;

/// <summary>The contract of marshallers (grpc-behaviour.md 1.4).</summary>
[EveryRig]
internal sealed class SerializationTests(RigKind kind) : RigFixture(kind)
{
    private static readonly byte[] s_message = [1, 2, 3, 4, 5];

    [TestCaseSource(typeof(AnyCall), nameof(AnyCall.Shapes))]
    [Item("Z1")]
    public async Task ContextualMarshallers_AreThoseThatAreCalled(MethodType shape)
    {
        CallRig rig = await StartAsync(null, BytesService.Build());
        int written = 0;
        int read = 0;
        var contextual = new Marshaller<byte[]>(
            (message, context) =>
            {
                written++;
                context.Complete(message);
            },
            context =>
            {
                read++;
                return context.PayloadAsNewBuffer();
            });
        Assert.That(() => contextual.Serializer(s_message), Throws.TypeOf<NotImplementedException>());

        await CallAsync(rig, BytesService.Method(shape, contextual, contextual), s_message);

        Assert.That((written, read), Is.EqualTo((1, 1)));
    }

    [TestCaseSource(typeof(AnyCall), nameof(AnyCall.Shapes))]
    [Item("Z1")]
    public async Task PlainMarshallers_AreEmulated(MethodType shape)
    {
        CallRig rig = await StartAsync(null, BytesService.Build());

        byte[] echoed = await CallAsync(rig, BytesService.Method(shape), s_message);

        Assert.That(echoed, Is.EqualTo(s_message));
    }

    [Test]
    [Item("Z2")]
    public async Task WriterThatIsAskedForRepeatedly_IsTheSameOne()
    {
        CallRig rig = await StartAsync(null, BytesService.Build());
        bool isSame = false;

        byte[] echoed = await CallAsync(rig, BytesService.Writing(MethodType.Unary, (message, context) =>
        {
            IBufferWriter<byte> writer = context.GetBufferWriter();
            writer.Write(message.AsSpan(0, 2));
            isSame = ReferenceEquals(writer, context.GetBufferWriter());
            context.GetBufferWriter().Write(message.AsSpan(2));
            context.Complete();
        }));

        Assert.That(isSame);
        Assert.That(echoed, Is.EqualTo(s_message));
    }

    [Test]
    [Item("Z2")]
    public async Task WriterThatNothingIsWrittenTo_IsAnEmptyMessage()
    {
        CallRig rig = await StartAsync(null, BytesService.Build());

        byte[] echoed = await CallAsync(rig, BytesService.Writing(MethodType.Unary, static (_, context) =>
        {
            context.GetBufferWriter();
            context.Complete();
        }));

        Assert.That(echoed, Is.Empty);
    }

    [Test]
    [Item("Z3")]
    public async Task PayloadLength_SaidOrNot_MakesNoDifference(
        [Values] bool isSaid, [Values] bool isArray, [Values(0, 5, 5000, 300_000)] int bytes)
    {
        CallRig rig = await StartAsync(null, BytesService.Build());
        byte[] message = new byte[bytes];
        new BytePattern(7).Fill(message);

        byte[] echoed = await CallAsync(
            rig,
            BytesService.Writing(MethodType.Unary, (toWrite, context) =>
            {
                if (isSaid)
                {
                    context.SetPayloadLength(toWrite.Length);
                }

                if (isArray)
                {
                    context.Complete(toWrite);
                }
                else
                {
                    context.GetBufferWriter().Write(toWrite);
                    context.Complete();
                }
            }),
            message);

        SameBytes.Assert(echoed, message);
    }

    [Test]
    [Item("Z3")]
    public async Task PayloadLengthOverTheSendLimit_IsRefusedBeforeAnythingIsSerialised()
    {
        bool isWritten = false;
        CallRig rig = await StartAsync(new RigOptions { ClientMaxSend = 1000 }, BytesService.Build());
        Method<byte[], byte[]> method = BytesService.Writing(MethodType.Unary, (message, context) =>
        {
            context.SetPayloadLength(2000);
            isWritten = true;
            context.Complete(new byte[2000]);
        });

        RpcException failure = await FailureOf(CallAsync(rig, method));

        // The other rigs check the size only after the message was written.
        Assert.That(failure.StatusCode, Is.EqualTo(StatusCode.ResourceExhausted));
        Assert.That(isWritten, Is.EqualTo(!IsShm));
    }

    [Test]
    [Item("Z5")]
    public async Task PayloadAsNewBuffer_IsAnArrayOfTheExactSizeAndTheCallersOwn()
    {
        CallRig rig = await StartAsync(null, BytesService.Build());
        var taken = new List<byte[]>();
        Method<byte[], byte[]> method = BytesService.Reading(MethodType.DuplexStreaming, context =>
        {
            byte[] array = context.PayloadAsNewBuffer();
            Assert.That(array, Has.Length.EqualTo(context.PayloadLength));
            taken.Add(array);
            return array;
        });

        using AsyncDuplexStreamingCall<byte[], byte[]> call = rig.Invoker.AsyncDuplexStreamingCall(
            method, null, default);
        for (byte i = 0; i < 10; i++)
        {
            await call.RequestStream.WriteAsync([i, i, i]).Bounded();
            Assert.That(await call.ResponseStream.MoveNext(CancellationToken.None).Bounded());
            Array.Fill(call.ResponseStream.Current, (byte)(100 + i));
        }

        // The arrays share no memory, and later messages do not overwrite them.
        Assert.That(
            taken.Select(array => array.Distinct().Single()), Is.EqualTo(Enumerable.Range(100, 10)));
    }

    [Test]
    [Item("Z5")]
    public async Task PayloadAsReadOnlySequence_HasTheWholeMessage([Values(0, 5, 100_000, 3_000_000)] int bytes)
    {
        CallRig rig = await StartAsync(null, BytesService.Build());
        byte[] message = new byte[bytes];
        new BytePattern(3).Fill(message);
        int segments = 0;
        // A type of its own: the service, in the same process, reads byte[] as arrays, so later messages of that type
        // would arrive as arrays here too.
        var responses = new Marshaller<Tuple<byte[]>>(
            static (_, _) => throw new NotSupportedException(),
            context =>
            {
                ReadOnlySequence<byte> sequence = context.PayloadAsReadOnlySequence();
                Assert.That(sequence.Length, Is.EqualTo(context.PayloadLength));
                foreach (ReadOnlyMemory<byte> _ in sequence)
                {
                    segments++;
                }

                return Tuple.Create(sequence.ToArray());
            });
        Method<byte[], byte[]> echo = BytesService.Method(MethodType.Unary);
        var method = new Method<byte[], Tuple<byte[]>>(
            echo.Type, echo.ServiceName, echo.Name, echo.RequestMarshaller, responses);

        Tuple<byte[]> echoed = await rig.Invoker.AsyncUnaryCall(method, null, default, message)
            .ResponseAsync.Bounded();

        SameBytes.Assert(echoed.Item1, message);
        if (IsShm && bytes > 1 << 20)
        {
            Assert.That(segments, Is.GreaterThan(1), "A large message lies in more than one place.");
        }
    }

    [Test]
    [NotOn(RigKind.GrpcDotNet, "It keeps the payload; here the bytes may be the peer's.")]
    [Item("Z5")]
    public async Task Payload_AfterTheDeserialiserHasReturned_CannotBeTaken()
    {
        CallRig rig = await StartAsync(null, BytesService.Build());
        DeserializationContext? kept = null;

        await CallAsync(rig, BytesService.Reading(MethodType.Unary, context =>
        {
            kept = context;
            return [];
        }));

        Assert.That(
            () => kept!.PayloadAsNewBuffer(),
            IsDotNet ? Throws.InvalidOperationException : Throws.InstanceOf<Exception>());
    }

    [Test]
    [Item("Z6")]
    public async Task EmptyMessages_BothWays_AreMessages()
    {
        int requestBytes = -1;
        CallRig rig = await StartAsync(new Script
        {
            Unary = (request, _) =>
            {
                requestBytes = request.CalculateSize();
                return Task.FromResult(Payloads.Empty);
            },
        });

        Payload blocking = await Timeouts.OnThread(() => rig.Client.Unary(Payloads.Empty)).Bounded();
        Payload awaited = await rig.Client.UnaryAsync(Payloads.Empty).ResponseAsync.Bounded();

        Assert.That(requestBytes, Is.Zero);
        Assert.That(blocking.Data.Length + awaited.Data.Length, Is.Zero);
    }

    [TestCaseSource(typeof(AnyCall), nameof(AnyCall.Shapes))]
    [Item("Z6")]
    public async Task EmptyMessages_HaveLengthZeroAndAnEmptySequence(MethodType shape)
    {
        CallRig rig = await StartAsync(null, BytesService.Build());
        var seen = new List<(int Length, long Sequence)>();

        byte[] echoed = await CallAsync(
            rig,
            BytesService.Reading(shape, context =>
            {
                seen.Add((context.PayloadLength, context.PayloadAsReadOnlySequence().Length));
                return [];
            }),
            []);

        Assert.That(echoed, Is.Empty);
        Assert.That(seen, Is.EqualTo(new[] { (0, 0L) }));
    }

    [Test]
    [Item("Z7")]
    public async Task Marshaller_ReadsACopyAndNotThePeersMemory()
    {
        CallRig rig = await StartAsync(null, BytesService.Build());
        bool isArray = false;

        await CallAsync(rig, BytesService.Reading(MethodType.Unary, context =>
        {
            // Memory in a segment has no array.
            isArray = MemoryMarshal.TryGetArray(context.PayloadAsReadOnlySequence().First, out _);
            return [];
        }));

        Assert.That(isArray, Is.EqualTo(IsDotNet));
    }

    /// <summary>Makes a call with one request and returns its one response.</summary>
    private static async Task<byte[]> CallAsync(CallRig rig, Method<byte[], byte[]> method, byte[]? request = null) =>
        (await AnyCall.CallAsync(rig.Invoker, method, request ?? s_message).Bounded())!;
}
