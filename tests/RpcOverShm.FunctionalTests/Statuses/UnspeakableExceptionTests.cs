using RpcOverShm.FunctionalTests.Codecs;

namespace RpcOverShm.FunctionalTests.Statuses;

/// <summary>
/// User exceptions whose members throw while a status is created from them: their calls end and the process survives.
/// Loggers that format exceptions throw here too.
/// </summary>
internal sealed class UnspeakableExceptionTests() : ItemFixture(RigKind.Shm)
{
    private static readonly string s_words =
        $"{nameof(UnspeakableException)}: (its message throws {nameof(NotSupportedException)})";

    [Test]
    public async Task Method_ThatThrowsIt_EndsUnknownInEveryShape([Values] bool isDetailed, [Values] bool isLater)
    {
        CallRig rig = await UseAsync(
            Everywhere(async _ =>
            {
                if (isLater)
                {
                    await Task.Yield();
                }

                throw new UnspeakableException();
            }),
            new RigOptions { HasDetailedErrors = isDetailed });
        WriteExceptionsOut(rig);

        RpcException[] failures = await FailuresOfEveryShapeAsync(rig);

        string detail = "Exception was thrown by handler." + (isDetailed ? $" {s_words}" : "");
        Assert.That(
            failures.Select(failure => failure.Status), Is.All.EqualTo(new Status(StatusCode.Unknown, detail)));
        Assert.That(
            () => ((ShmRig)rig).Served.Single().PendingOrRunning,
            Is.Zero.After(10_000, 5),
            "Methods that are counted.");
    }

    [Test]
    public async Task Deserializer_ThatThrowsIt_EndsItsCallInternal(
        [ValueSource(typeof(AnyCall), nameof(AnyCall.Shapes))] MethodType shape)
    {
        CallRig rig = await UseAsync(null, BytesService.Build());

        RpcException failure = await FailureOf(AnyCall.CallAsync(
            rig.Invoker, BytesService.Reading(shape, static _ => throw new UnspeakableException()), [1, 2, 3]));

        Assert.That(
            failure.Status,
            Is.EqualTo(new Status(StatusCode.Internal, $"Failed to deserialize response message. {s_words}")));
    }

    [Test]
    public async Task Serializer_ThatThrowsIt_EndsItsCallInternal(
        [ValueSource(typeof(AnyCall), nameof(AnyCall.Shapes))] MethodType shape)
    {
        CallRig rig = await UseAsync(null, BytesService.Build());
        WriteExceptionsOut(rig);
        (AnyCall call, IClientStreamWriter<byte[]>? requests) = AnyCall.Start(
            rig.Invoker, BytesService.Writing(shape, static (_, _) => throw new UnspeakableException()), [1, 2, 3]);
        Exception? write = requests is null ? null : await CatchAsync(() => requests.WriteAsync([1, 2, 3]));

        RpcException failure = await FailureOf(call.Outcome);

        Assert.That(failure.Status, Is.EqualTo(new Status(StatusCode.Internal, NotStarted)));
        Assert.That(write, requests is null ? Is.Null : Is.TypeOf<RpcException>());
    }

    [Test]
    public async Task Credentials_ThatThrowIt_EndTheirCallInternal(
        [ValueSource(typeof(AnyCall), nameof(AnyCall.Shapes))] MethodType shape, [Values] bool isLater)
    {
        CallRig rig = await UseAsync(new Script());
        WriteExceptionsOut(rig);
        var options = new CallOptions(credentials: CallCredentials.FromInterceptor(async (_, _) =>
        {
            if (isLater)
            {
                await Task.Yield();
            }

            throw new UnspeakableException();
        }));

        RpcException failure = await FailureOf(AnyCall.Start(rig.Invoker, shape, options).Outcome);

        Assert.That(failure.Status, Is.EqualTo(new Status(StatusCode.Internal, NotStarted)));
    }

    private static string NotStarted => $"Error starting gRPC call. {s_words}";

    private static void WriteExceptionsOut(CallRig rig)
    {
        rig.Log.Expect(MethodThrew);
        rig.Log.OnEntry = static entry => _ = entry.Exception?.ToString();
    }
}

/// <summary>A user exception whose members throw.</summary>
internal sealed class UnspeakableException : Exception
{
    public override string Message => throw new NotSupportedException("The words are missing too.");
}
