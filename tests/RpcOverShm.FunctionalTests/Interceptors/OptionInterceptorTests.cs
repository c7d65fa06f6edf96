namespace RpcOverShm.FunctionalTests.Interceptors;

/// <summary>Interceptors of a server's options and of a single service.</summary>
internal sealed class OptionInterceptorTests() : RigFixture(RigKind.Shm)
{
    [Test]
    public async Task Interceptors_OfOptionsAndService_RunInTheOrderOfAspNet_InEveryShape()
    {
        var seen = new List<string>();
        ShmRig rig = await StartShmAsync(new Script(), new RigOptions
        {
            OptionInterceptors = [AroundInterceptor.Noting("first", seen), AroundInterceptor.Noting("second", seen)],
        });
        await rig.Server.StopAsync(TimeSpan.Zero).Bounded();
        ShmServer server = rig.MakeServer();
        server.Services.Add(
            new Script().Build(),
            AroundInterceptor.Noting("service", seen),
            AroundInterceptor.Noting("innermost", seen));
        await server.StartAsync();

        string wrong = await Shapes.RunAllAsync(rig.Client).Bounded();

        Assert.That(wrong, Is.Empty);
        string[] order = ["first", "second", "service", "innermost"];
        Assert.That(
            seen.Select(one => one.Split(' ')[0]),
            Is.EqualTo(Enumerable.Repeat(order, 5).SelectMany(all => all)));
    }

    [Test]
    public async Task Interceptor_OfOptions_SeesTheCall_AndMayTranslateItsFailure()
    {
        string seen = "";
        var interceptor = new AroundInterceptor(async (context, next) =>
        {
            seen = $"{context.Method} {context.Host} {context.Peer} {context.RequestHeaders.GetValue("key")} "
                + $"{context.Deadline < DateTime.MaxValue} {context.Status.StatusCode}";
            try
            {
                await next();
            }
            catch (InvalidOperationException exception)
            {
                throw new RpcException(new Status(StatusCode.DataLoss, exception.Message));
            }
        });
        ShmRig rig = await StartShmAsync(
            new Script { Unary = (_, _) => throw new InvalidOperationException("broken") },
            new RigOptions { OptionInterceptors = [interceptor] });

        RpcException failure = await FailureOf(rig.Client.UnaryAsync(
            Payloads.Empty,
            new CallOptions(new Metadata { { "key", "value" } }, DateTime.UtcNow.AddHours(1))));

        Assert.That(failure.Status.Plain(), Is.EqualTo(new Status(StatusCode.DataLoss, "broken")));
        Assert.That(seen, Is.EqualTo(
            $"/{Script.ServiceName}/Unary localhost shm:pid={Environment.ProcessId};session=1 value True OK"));
    }
}
