using Grpc.Core.Interceptors;
using RpcOverShm.FunctionalTests.Telemetry;
using RpcOverShm.Protobuf;

namespace RpcOverShm.FunctionalTests.Statuses;

/// <summary>Calls that nobody awaits, through everything of this library that wraps a call.</summary>
internal sealed class UnawaitedCallTests() : RigFixture(RigKind.Shm)
{
    private static readonly ShmFaults s_faults = new ShmFaultsBuilder().Build();

    [TestCase("plain")]
    [TestCase("retries")]
    [TestCase("faults")]
    [TestCase("inspector")]
    [TestCase("credentials")]
    [TestCase("spans")]
    public async Task ExceptionsOfCallsThatNobodyAwaits_AreNeverUnobserved(string through)
    {
        using TelemetryRecorder? recorder = through == "spans" ? new TelemetryRecorder() : null;
        var options = new RigOptions
        {
            Retries = through == "retries" ? new RigRetries(3, StatusCode.Unavailable) : null,
            ChannelCallCredentials = through == "credentials"
                ? CallCredentials.FromInterceptor(static (_, _) => Task.CompletedTask)
                : null,
        };
        IReadOnlyList<Exception> unobserved = await Unobserved.InAsync(async () =>
        {
            ShmRig rig = await StartShmAsync(
                new Script
                {
                    Unary = (_, _) => throw new RpcException(new Status(StatusCode.Aborted, "nobody looks")),
                    ClientStream = (_, _) => throw new RpcException(new Status(StatusCode.Aborted, "nobody looks")),
                    Duplex = (_, _, context) => Task.Delay(Timeout.Infinite, context.CancellationToken),
                },
                options);
            ShmChannel channel = rig.OpenChannel(one =>
            {
                if (through == "inspector")
                {
                    one.MessageInspectors.Add(new Blind());
                }
            });
            CallInvoker invoker = channel.CreateCallInvoker();
            var client = new ScriptClient(
                through == "faults" ? invoker.Intercept(new ShmFaultClientInterceptor(s_faults)) : invoker);

            await UnobservedCalls.DropAsync(client);
            await rig.KillServerAsync().Bounded();
            await UnobservedCalls.DropAsync(client);
            await rig.ShutDownChannelAsync().Bounded();
        });

        Assert.That(unobserved, Is.Empty);
    }

    private sealed class Blind : ShmMessageInspector;
}
