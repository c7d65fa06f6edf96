using System.Buffers;

namespace RpcOverShm.FunctionalTests.Codecs;

/// <summary>Response marshallers that fail: their own call ends as Unknown, and no other.</summary>
[EveryRig]
internal sealed class ResponseMarshallerTests(RigKind kind) : ItemFixture(kind)
{
    private const string Service = "test.BadMarshallers";

    private static readonly Marshaller<byte[]> s_good = Marshallers.Create((byte[] message) => message, bytes => bytes);

    [TestCase("throws")]
    [TestCase("throws with the writer")]
    [TestCase("completes never")]
    [TestCase("completes twice")]
    [TestCase("completes twice with arrays")]
    [TestCase("completes with both")]
    [TestCase("completes with null")]
    [TestCase("takes the writer too late")]
    [NotOn(RigKind.GrpcDotNet, "It takes a marshaller that does not complete for one of an empty message.")]
    public async Task Response_WhoseMarshallerBreaksTheRules_IsUnknown(string fault)
    {
        CallRig rig = await UseAsync(null, Build(fault));
        rig.Log.Expect(MethodThrew);

        RpcException[] failures = await FailuresAsync(rig);

        // Grpc.Core serialises a response outside its error handling, and resets the stream.
        Assert.That(
            failures.Select(failure => failure.StatusCode),
            Is.EqualTo(IsDotNet
                ? [StatusCode.Unknown, StatusCode.Unknown, StatusCode.Unknown]
                : new[] { StatusCode.Cancelled, StatusCode.Cancelled, StatusCode.Unknown }));
    }

    [TestCase("announces too late")]
    [TestCase("announces more than it writes")]
    [TestCase("announces less than it writes")]
    [TestCase("announces a negative length")]
    [NotOn(
        RigKind.GrpcDotNet,
        "It sends the announced length before the message: its client finds the lie, and says Internal.")]
    public async Task Response_WhoseMarshallerLiesAboutItsLength_IsUnknown(string fault)
    {
        CallRig rig = await UseAsync(null, Build(fault));
        rig.Log.Expect(MethodThrew);

        if (IsDotNet)
        {
            RpcException[] failures = await FailuresAsync(rig);
            Assert.That(failures.Select(failure => failure.StatusCode), Is.All.EqualTo(StatusCode.Unknown));
        }
        else
        {
            // Grpc.Core ignores the announced length.
            await AssertArrivesAsync(rig);
        }
    }

    [TestCase("announces nothing")]
    [TestCase("announces and completes with an array")]
    [TestCase("takes the writer twice")]
    public async Task Response_WhoseMarshallerDoesWhatItMay_Arrives(string hint) =>
        await AssertArrivesAsync(await UseAsync(null, Build(hint)));

    private static async Task AssertArrivesAsync(CallRig rig)
    {
        byte[] unary = await rig.Invoker.AsyncUnaryCall(
            Define(MethodType.Unary, s_good), null, default, [1, 2, 3]).ResponseAsync.Bounded();
        List<byte[]> stream = await rig.Invoker.AsyncServerStreamingCall(
            Define(MethodType.ServerStreaming, s_good), null, default, [1, 2, 3]).ResponseStream.ToListAsync();

        Assert.That(unary, Is.EqualTo(new byte[] { 1, 2, 3 }));
        Assert.That(stream.Single(), Is.EqualTo(new byte[] { 1, 2, 3 }));
    }

    private static async Task<RpcException[]> FailuresAsync(CallRig rig) =>
    [
        await FailureOf(rig.Invoker.AsyncUnaryCall(
            Define(MethodType.Unary, s_good), null, default, [1, 2, 3]).ResponseAsync),
        await CallFailure.OfBlocking(() => rig.Invoker.BlockingUnaryCall(
            Define(MethodType.Unary, s_good), null, default, [1, 2, 3])),
        await FailureOf(rig.Invoker.AsyncServerStreamingCall(
            Define(MethodType.ServerStreaming, s_good), null, default, [1, 2, 3]).ResponseStream.ToListAsync()),
    ];

    private static ServerServiceDefinition Build(string hint)
    {
        var marshaller = new Marshaller<byte[]>(
            (message, context) => Serialize(hint, message, context), context => context.PayloadAsNewBuffer());
        return ServerServiceDefinition.CreateBuilder()
            .AddMethod(Define(MethodType.Unary, marshaller), (request, _) => Task.FromResult(request))
            .AddMethod(
                Define(MethodType.ServerStreaming, marshaller),
                (request, responses, _) => responses.WriteAsync(request))
            .Build();
    }

    private static Method<byte[], byte[]> Define(MethodType type, Marshaller<byte[]> response) =>
        new(type, Service, type.ToString(), s_good, response);

    private static void Serialize(string hint, byte[] message, SerializationContext context)
    {
        switch (hint)
        {
            case "throws":
                throw new FormatException("no bytes for this");
            case "throws with the writer":
                context.GetBufferWriter().Write(message);
                throw new FormatException("no bytes for this");
            case "completes never":
                context.GetBufferWriter().Write(message);
                break;
            case "completes twice":
                WriteAndComplete(message, context);
                context.Complete();
                break;
            case "completes twice with arrays":
                context.Complete(message);
                context.Complete(message);
                break;
            case "completes with both":
                WriteAndComplete(message, context);
                context.Complete(message);
                break;
            case "completes with null":
                context.Complete(null!);
                break;
            case "takes the writer too late":
                context.Complete(message);
                context.GetBufferWriter();
                break;
            case "announces too late":
                WriteAndComplete(message, context);
                context.SetPayloadLength(message.Length);
                break;
            case "takes the writer twice":
                context.GetBufferWriter();
                WriteAndComplete(message, context);
                break;
            case "announces nothing":
                WriteAndComplete(message, context);
                break;
            case "announces and completes with an array":
                context.SetPayloadLength(message.Length);
                context.Complete(message);
                break;
            default:
                Announce(hint, message, context);
                break;
        }
    }

    private static void Announce(string hint, byte[] message, SerializationContext context)
    {
        context.SetPayloadLength(hint switch
        {
            "announces more than it writes" => message.Length + 1,
            "announces less than it writes" => message.Length - 1,
            _ => -1,
        });
        WriteAndComplete(message, context);
    }

    private static void WriteAndComplete(byte[] message, SerializationContext context)
    {
        context.GetBufferWriter().Write(message);
        context.Complete();
    }
}
