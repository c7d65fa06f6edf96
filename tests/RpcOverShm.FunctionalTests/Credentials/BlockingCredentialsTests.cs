using Grpc.Core;
using RpcOverShm.FunctionalTests.Rigs;
using RpcOverShm.FunctionalTests.Scheduling;
using RpcOverShm.Testing;

namespace RpcOverShm.FunctionalTests.Credentials;

/// <summary>Blocking calls whose credentials run code of the user's.</summary>
internal sealed class BlockingCredentialsTests() : RigFixture(RigKind.Shm)
{
    [Test]
    public async Task BlockingCall_InAContextOfOneThread_DoesNotWaitForItself()
    {
        ShmRig rig = await StartShmAsync(new Script
        {
            Unary = (_, context) => Task.FromResult(Payloads.Of(context.RequestHeaders.GetValue("authorization")!)),
        });
        var options = new CallOptions(credentials: CallCredentials.FromInterceptor(async (_, metadata) =>
        {
            // Goes on in the context that it was called in, as code does that knows nothing of this.
            await Task.Yield();
            metadata.Add("authorization", "in time");
        }));
        ScriptClient client = rig.Client;

        using var context = new OneThreadContext();
        string answer = "";
        await context.RunAsync(() =>
        {
            answer = client.Unary(Payloads.Empty, options).Text();
            return Task.CompletedTask;
        }).Bounded();

        Assert.That(answer, Is.EqualTo("in time"));
    }
}
