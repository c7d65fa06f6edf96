using Grpc.Core;
using RpcOverShm.FunctionalTests.Rigs;
using RpcOverShm.Testing;
using RpcOverShm.Testing.Protos;

namespace RpcOverShm.FunctionalTests;

/// <summary>
/// The codes and texts that programs compare, as grpc-dotnet has them. Grpc.Core has others, so this is for shared
/// memory only.
/// </summary>
internal sealed class StatusDetailTests() : RigFixture(RigKind.Shm)
{
    private const int MethodThrew = 301;

    [Test]
    public async Task PlainException_HasTheFixedDetail()
    {
        ShmRig rig = await StartShmAsync(
            new Script { Unary = (_, _) => throw new InvalidOperationException("secret") });
        rig.Log.Expect(MethodThrew);

        RpcException failure = await FailureOf(rig.Client.UnaryAsync(Payloads.Empty));

        Assert.That(
            failure.Status.Plain(), Is.EqualTo(new Status(StatusCode.Unknown, "Exception was thrown by handler.")));
        Assert.That(rig.Log.Of(MethodThrew).Single().Exception!.Message, Is.EqualTo("secret"));
    }

    [Test]
    public async Task PlainException_WithDetailedErrors_TellsTypeAndMessage()
    {
        var options = new RigOptions { HasDetailedErrors = true };
        ShmRig rig = await StartShmAsync(
            new Script { Unary = (_, _) => throw new InvalidOperationException("public") }, options);
        rig.Log.Expect(MethodThrew);

        RpcException failure = await FailureOf(rig.Client.UnaryAsync(Payloads.Empty));

        Assert.That(
            failure.Status.Detail, Is.EqualTo("Exception was thrown by handler. InvalidOperationException: public"));
    }

    [Test]
    public async Task RpcException_IsLoggedAsInformation()
    {
        ShmRig rig = await StartShmAsync(
            new Script { Unary = (_, _) => throw new RpcException(new Status(StatusCode.NotFound, "x")) });

        await FailureOf(rig.Client.UnaryAsync(Payloads.Empty));

        LogEntry entry = await rig.Log.WaitForAsync(300);
        Assert.That(entry.Level, Is.EqualTo(Microsoft.Extensions.Logging.LogLevel.Information));
    }

    [Test]
    public async Task NullResponse_IsCancelled()
    {
        ShmRig rig = await StartShmAsync(new Script
        {
            Unary = (_, _) => Task.FromResult<Payload>(null!),
            ClientStream = (_, _) => Task.FromResult<Payload>(null!),
        });

        RpcException unary = await FailureOf(rig.Client.UnaryAsync(Payloads.Empty));
        RpcException clientStream = await FailureOf(rig.Client.ClientStream().ResponseAsync);

        var expected = new Status(StatusCode.Cancelled, "No message returned from method.");
        Assert.That(unary.Status.Plain(), Is.EqualTo(expected));
        Assert.That(clientStream.Status.Plain(), Is.EqualTo(expected));
    }

    [Test]
    public async Task NullTask_IsUnknown_InEveryShape()
    {
        ShmRig rig = await StartShmAsync(new Script
        {
            Unary = (_, _) => null!,
            ClientStream = (_, _) => null!,
            ServerStream = (_, _, _) => null!,
            Duplex = (_, _, _) => null!,
        });
        rig.Log.Expect(MethodThrew);

        RpcException[] failures =
        [
            await FailureOf(rig.Client.UnaryAsync(Payloads.Empty)),
            await FailureOf(rig.Client.ClientStream().ResponseAsync),
            await FailureOf(rig.Client.ServerStream(Payloads.Empty).ResponseStream.ReadAllAsync()),
            await FailureOf(rig.Client.Duplex().ResponseStream.ReadAllAsync()),
        ];

        Assert.That(
            failures.Select(failure => failure.Status.Plain()),
            Is.All.EqualTo(new Status(StatusCode.Unknown, "Exception was thrown by handler.")));
    }

    [Test]
    public async Task RpcExceptionWithOk_FromAUnaryMethod_IsInternal()
    {
        ShmRig rig = await StartShmAsync(
            new Script { Unary = (_, _) => throw new RpcException(new Status(StatusCode.OK, "odd")) });

        RpcException failure = await FailureOf(rig.Client.UnaryAsync(Payloads.Empty));

        Assert.That(failure.StatusCode, Is.EqualTo(StatusCode.Internal));
        Assert.That(failure.Status.Detail, Does.StartWith("Failed to deserialize response message"));
    }

    [Test]
    public async Task Method_Unknown_NamesWhatIsMissing()
    {
        ShmRig rig = await StartShmAsync(new Script());

        RpcException method = await FailureOf(rig.Invoker.AsyncUnaryCall(
            Script.Define(MethodType.Unary, "NoSuchMethod"), null, default, Payloads.Empty));
        RpcException service = await FailureOf(rig.Invoker.AsyncUnaryCall(
            Script.Define(MethodType.Unary, "Unary", "no.such.Service"), null, default, Payloads.Empty));

        Assert.That(
            method.Status.Plain(), Is.EqualTo(new Status(StatusCode.Unimplemented, "Method is unimplemented.")));
        Assert.That(
            service.Status.Plain(), Is.EqualTo(new Status(StatusCode.Unimplemented, "Service is unimplemented.")));
    }

    [Test]
    public async Task Method_WithTheLongestName_IsUnimplemented()
    {
        ShmRig rig = await StartShmAsync(new Script());

        RpcException failure = await FailureOf(rig.Invoker.AsyncUnaryCall(
            Script.Define(MethodType.Unary, new string('m', 60_000)), null, default, Payloads.Empty));

        Assert.That(failure.StatusCode, Is.EqualTo(StatusCode.Unimplemented));
    }

    [Test]
    public async Task TwoRequestsWhereOneIsTaken_IsInternal()
    {
        ShmRig rig = await StartShmAsync(new Script());

        // A client that thinks that the server's unary method is a stream.
        using AsyncClientStreamingCall<Payload, Payload> call = rig.Invoker.AsyncClientStreamingCall(
            Script.Define(MethodType.ClientStreaming, "Unary"), null, default);
        await call.RequestStream.WriteAsync(Payloads.Of("one")).Bounded();
        await call.RequestStream.WriteAsync(Payloads.Of("two")).Bounded();
        await call.RequestStream.CompleteAsync().Bounded();
        RpcException failure = await FailureOf(call.ResponseAsync);

        Assert.That(
            failure.Status.Plain(),
            Is.EqualTo(new Status(StatusCode.Internal, "Additional data after the message received.")));
    }

    [Test]
    public async Task TwoResponsesWhereOneIsTaken_IsInternal()
    {
        ShmRig rig = await StartShmAsync(new Script
        {
            ServerStream = async (request, responses, _) =>
            {
                await responses.WriteAsync(request);
                await responses.WriteAsync(request);
            },
        });

        // A client that thinks that the server's stream is a unary method.
        RpcException failure = await FailureOf(rig.Invoker.AsyncUnaryCall(
            Script.Define(MethodType.Unary, "ServerStream"), null, default, Payloads.Of("x")));

        Assert.That(
            failure.Status.Plain(),
            Is.EqualTo(new Status(StatusCode.Internal, "Additional data after the message received.")));
    }

    [Test]
    public async Task UnpairedSurrogates_InADetail_AreReplaced()
    {
        ShmRig rig = await StartShmAsync(new Script
        {
            Unary = (_, _) => throw new RpcException(new Status(StatusCode.Aborted, "a\uD83Db")),
        });

        RpcException failure = await FailureOf(rig.Client.UnaryAsync(Payloads.Empty));

        Assert.That(failure.Status.Detail, Is.EqualTo("a\uFFFDb"));
    }

    [Test]
    public async Task UnreadableResponse_IsInternal_AndUnreadableRequestUnknown()
    {
        ShmRig rig = await StartShmAsync(new Script());
        rig.Log.Expect(MethodThrew);
        Marshaller<byte[]> bytes = Marshallers.Create((byte[] message) => message, message => message);
        Marshaller<Payload> unreadable = Marshallers.Create<Payload>(
            (Payload _) => [], _ => throw new FormatException("not what was sent"));
        var response = new Method<Payload, Payload>(
            MethodType.Unary, Script.ServiceName, "Unary", Script.UnaryMethod.RequestMarshaller, unreadable);
        var request = new Method<byte[], Payload>(
            MethodType.Unary, Script.ServiceName, "Unary", bytes, Script.UnaryMethod.ResponseMarshaller);

        RpcException badResponse = await FailureOf(rig.Invoker.AsyncUnaryCall(response, null, default, Payloads.Empty));
        RpcException badRequest = await FailureOf(
            rig.Invoker.AsyncUnaryCall(request, null, default, [0xFF, 0xFF, 0xFF]));

        Assert.That(badResponse.StatusCode, Is.EqualTo(StatusCode.Internal));
        Assert.That(badResponse.Status.Detail, Does.StartWith("Failed to deserialize response message"));
        Assert.That(badRequest.StatusCode, Is.EqualTo(StatusCode.Unknown));
    }
}
