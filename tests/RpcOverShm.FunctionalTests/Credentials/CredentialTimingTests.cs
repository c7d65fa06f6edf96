using Grpc.Core;
using RpcOverShm.FunctionalTests.Rigs;
using RpcOverShm.FunctionalTests.Scheduling;
using RpcOverShm.Testing;
using RpcOverShm.Testing.Protos;

namespace RpcOverShm.FunctionalTests.Credentials;

/// <summary>Credentials that block, take their time, or go with a batch.</summary>
internal sealed class CredentialTimingTests() : RigFixture(RigKind.Shm)
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

    [Test]
    public async Task Shutdown_WhileCredentialsAreAsked_EndsTheCall()
    {
        ShmRig rig = await StartShmAsync(new Script());
        var mayGoOn = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
        var options = new CallOptions(credentials: CallCredentials.FromInterceptor((_, _) => mayGoOn.Task));

        AsyncUnaryCall<Payload> call = rig.Client.UnaryAsync(Payloads.Empty, options);
        await rig.ShmChannel.ShutdownAsync().Bounded();
        mayGoOn.SetResult();

        Assert.That((await FailureOf(call)).StatusCode, Is.EqualTo(StatusCode.Cancelled));
    }

    [Test]
    public async Task Dispose_WhileCredentialsAreAsked_EndsWritesToo()
    {
        ShmRig rig = await StartShmAsync(new Script());
        var never = new TaskCompletionSource();
        var options = new CallOptions(credentials: CallCredentials.FromInterceptor((_, _) => never.Task));

        AsyncClientStreamingCall<Payload, Payload> call = rig.Client.ClientStream(options);
        Task write = call.RequestStream.WriteAsync(Payloads.Empty);
        call.Dispose();

        Assert.That((await FailureOf(write)).StatusCode, Is.EqualTo(StatusCode.Cancelled));
        Assert.That((await FailureOf(call.ResponseAsync)).StatusCode, Is.EqualTo(StatusCode.Cancelled));
    }

    [Test]
    public async Task Batch_HasTheCredentialsOfCallAndChannel()
    {
        ShmRig rig = await StartShmAsync(
            new Script
            {
                Unary = (_, context) => Task.FromResult(Payloads.Of(string.Join(
                    ',', context.RequestHeaders.GetAll("authorization").Select(entry => entry.Value)))),
            },
            new RigOptions { ChannelCallCredentials = Adding("channel") });
        using ShmCallBatch batch = rig.ShmChannel.CreateBatch();
        var client = new ScriptClient(batch.CallInvoker);

        AsyncUnaryCall<Payload> own = client.UnaryAsync(Payloads.Empty, new CallOptions(credentials: Adding("own")));
        AsyncUnaryCall<Payload> none = client.UnaryAsync(Payloads.Empty);
        await batch.SendAsync().Bounded();

        Assert.That((await own.ResponseAsync.Bounded()).Text(), Is.EqualTo("own,channel"));
        Assert.That((await none.ResponseAsync.Bounded()).Text(), Is.EqualTo("channel"));
    }

    private static CallCredentials Adding(string value) => CallCredentials.FromInterceptor((_, metadata) =>
    {
        metadata.Add("authorization", value);
        return Task.CompletedTask;
    });
}
