namespace RpcOverShm.FunctionalTests.Statuses;

/// <summary>Codes and texts of grpc-dotnet that programs compare. Shared memory only: Grpc.Core has others.</summary>
internal sealed class StatusDetailTests() : RigFixture(RigKind.Shm)
{
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

        // The client takes the server's stream for a unary method.
        RpcException failure = await FailureOf(rig.Invoker.AsyncUnaryCall(
            Script.Define(MethodType.Unary, "ServerStream"), null, default, Payloads.Of("x")));

        Assert.That(
            failure.Status.Plain(),
            Is.EqualTo(new Status(StatusCode.Internal, "Additional data after the message received.")));
    }

    [Test]
    public async Task UnreadableResponse_IsInternal()
    {
        ShmRig rig = await StartShmAsync(new Script());
        Marshaller<Payload> unreadable = Marshallers.Create<Payload>(
            (Payload _) => [], _ => throw new FormatException("not what was sent"));
        var response = new Method<Payload, Payload>(
            MethodType.Unary, Script.ServiceName, "Unary", Script.UnaryMethod.RequestMarshaller, unreadable);

        RpcException badResponse = await FailureOf(rig.Invoker.AsyncUnaryCall(response, null, default, Payloads.Empty));

        Assert.That(badResponse.StatusCode, Is.EqualTo(StatusCode.Internal));
        Assert.That(badResponse.Status.Detail, Does.StartWith("Failed to deserialize response message"));
    }
}
