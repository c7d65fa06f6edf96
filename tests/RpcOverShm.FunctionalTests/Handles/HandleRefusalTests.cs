using System.Runtime.InteropServices;
using Microsoft.Win32.SafeHandles;

namespace RpcOverShm.FunctionalTests.Handles;

/// <summary>Handles that are not passed: each call says why, and the connection goes on.</summary>
internal sealed class HandleRefusalTests : HandleFixture
{
    private static Method<string, string> Unary => Methods.Of(MethodType.Unary);

    [TestCase(false, false)]
    [TestCase(true, false)]
    [TestCase(false, true)]
    public async Task Peer_ThatTakesNoHandles_IsASentence(bool isServerWilling, bool isClientWilling)
    {
        RpcException? thrown = null;
        ShmRig rig = await StartShmAsync(
            new RigOptions { Server = options => options.Handles.AllowHandles = isServerWilling },
            Serve(context =>
            {
                thrown = Assert.Throws<RpcException>(() => context.SendHandles(Things.File("x")));
                return Task.CompletedTask;
            }));
        ShmChannel channel = rig.OpenChannel(options => options.Handles.AllowHandles = isClientWilling);
        CallInvoker invoker = channel.CreateCallInvoker();

        RpcException failure = await FailureOf(CallAsync(
            invoker, default(CallOptions).WithHandles(Things.File("x"))));
        using var received = new ShmReceivedHandles();
        await CallAsync(invoker, default(CallOptions).WithHandles(received));

        Assert.That(failure.StatusCode, Is.EqualTo(StatusCode.FailedPrecondition));
        Assert.That(failure.Status.Detail, Does.StartWith("The other side takes no handles: set Handles.AllowHandles"));
        Assert.That(thrown!.Status.Detail, Is.EqualTo(failure.Status.Detail));
        Assert.That(await received.TakeAsync().Bounded(), Is.Empty);
    }

    [Test]
    public void Handles_ThatCannotBeSent_AreRefusedAtOnce()
    {
        SafeHandle file = Things.File("x");
        SafeHandle closed = Things.File("y");
        closed.Dispose();
        SafeHandle[] many = [.. Enumerable.Repeat(file, 17)];

        Assert.That(() => default(CallOptions).WithHandles(many), Throws.ArgumentException.With.Message.Contains("16"));
        Assert.That(() => default(CallOptions).WithHandles(file, closed), Throws.ArgumentException);
        Assert.That(() => default(CallOptions).WithHandles(file, null!), Throws.ArgumentException);
        Assert.That(() => default(CallOptions).WithHandles(new SafeFileHandle()), Throws.ArgumentException);
        Assert.That(() => default(CallOptions).WithHandles((SafeHandle[])null!), Throws.ArgumentNullException);
        Assert.That(
            () => default(CallOptions).WithHandles((ShmReceivedHandles)null!), Throws.ArgumentNullException);
    }

    [Test]
    public void Options_WithHandles_KeepTheirOthers()
    {
        var compressed = new WriteOptions(WriteFlags.NoCompress);
        CallOptions options = new CallOptions([], DateTime.UtcNow.AddDays(1), writeOptions: compressed)
            .WithHandles(Things.File("x")).WithHandles(Things.File("y"));

        Assert.That(options.WriteOptions!.Flags, Is.EqualTo(WriteFlags.NoCompress));
        Assert.That((options.Headers, options.Deadline), Is.Not.EqualTo(((Metadata?)null, (DateTime?)null)));
    }

    [Test]
    public async Task OneWayCalls_AndBatches_RefuseHandles()
    {
        ShmRig rig = await StartShmAsync(Allowed, Build());
        ShmChannel channel = rig.OpenChannel(static options => options.Handles.AllowHandles = true);
        CallOptions options = default(CallOptions).WithHandles(Things.File("x"));
        using ShmCallBatch batch = channel.CreateBatch();

        foreach (CallInvoker invoker in (CallInvoker[])[channel.CreateOneWayInvoker(), batch.CallInvoker])
        {
            Assert.That(
                () => invoker.AsyncUnaryCall(Unary, null, options, "x"),
                Throws.InvalidOperationException.With.Message.Contains("Handles go with no one-way call"));
        }

        Assert.That(
            () => channel.CreateOneWayInvoker().BlockingUnaryCall(Unary, null, options, "x"),
            Throws.InvalidOperationException);
    }

    [Test]
    [LinuxOnly("Windows passes no handles after the handshake.")]
    public async Task Handles_BeyondTheLimitOfTheServer_FailTheirCallOnly()
    {
        using var release = new SemaphoreSlim(0);
        (ShmRig rig, ShmChannel channel) = await StartPassingAsync(
            new RigOptions
            {
                Server = static options => (options.Handles.AllowHandles, options.Handles.MaxHeld) = (true, 16),
            },
            service: Serve(async context =>
            {
                if (context.RequestHeaders.Count > 0)
                {
                    await release.WaitAsync();
                }

                await context.TakeHandlesAsync();
            }));
        CallInvoker invoker = channel.CreateCallInvoker();
        SafeHandle file = Things.File("x");
        SafeHandle[] many = [.. Enumerable.Repeat(file, 16)];
        Task first = CallAsync(invoker, new CallOptions([new("wait", "")]).WithHandles(many));
        await Timeouts.Eventually(() => rig.OnlyConnection.Handles!.Held == 16);

        for (int i = 0; i < 20; i++)
        {
            RpcException failure = await FailureOf(CallAsync(invoker, default(CallOptions).WithHandles(file)));
            Assert.That(failure.StatusCode, Is.EqualTo(StatusCode.ResourceExhausted));
            Assert.That(failure.Status.Detail, Does.Contain("Handles.MaxHeld"));
        }

        release.Release();
        await first;
        await CallAsync(invoker, default(CallOptions).WithHandles(file));
    }

    [Test]
    [LinuxOnly("Windows passes no handles after the handshake.")]
    public async Task Handles_BeyondTheLimitOfTheClient_FailWhoTakesThem()
    {
        (_, ShmChannel channel) = await StartPassingAsync(
            change: static options => options.Handles.MaxHeld = 16,
            service: Serve(context =>
            {
                SafeHandle file = Things.File("x");
                context.SendHandles([.. Enumerable.Repeat(file, 10)]);
                context.SendHandles([.. Enumerable.Repeat(file, 10)]);
                return Task.CompletedTask;
            }));
        using var received = new ShmReceivedHandles();
        Task call = CallAsync(channel.CreateCallInvoker(), default(CallOptions).WithHandles(received));

        // The frame or the handles of the second set may be read first.
        RpcException failure = await FailureOf(call.ContinueWith(
            async done =>
            {
                await done;
                Array.ForEach(await received.TakeAsync(), static one => one.Dispose());
                await received.TakeAsync();
            },
            TaskScheduler.Default).Unwrap().Bounded());

        Assert.That(failure.StatusCode, Is.EqualTo(StatusCode.ResourceExhausted));
        Assert.That(failure.Status.Detail, Does.Contain("Handles.MaxHeld"));
    }

    [Test]
    [LinuxOnly("Windows passes no handles after the handshake.")]
    public async Task Handle_ThatIsClosedBeforeTheCall_IsASentence()
    {
        (_, ShmChannel channel) = await StartPassingAsync();
        SafeHandle file = Things.File("x");
        CallOptions options = default(CallOptions).WithHandles(file);
        file.Dispose();

        RpcException failure = await FailureOf(CallAsync(channel.CreateCallInvoker(), options));

        Assert.That(failure.StatusCode, Is.EqualTo(StatusCode.Internal));
        Assert.That(failure.Status.Detail, Does.StartWith("A handle was closed before it was sent."));
    }

    [Test]
    [LinuxOnly("Windows passes no handles after the handshake.")]
    public async Task Context_OfACallThatHasEnded_SendsNoHandles()
    {
        var context = new TaskCompletionSource<ServerCallContext>();
        (_, ShmChannel channel) = await StartPassingAsync(service: Serve(own =>
        {
            context.SetResult(own);
            return Task.CompletedTask;
        }));
        await CallAsync(channel.CreateCallInvoker(), default);
        ServerCallContext ended = await context.Task.Bounded();

        Assert.That(() => ended.SendHandles(Things.File("x")), Throws.InvalidOperationException);
        Assert.That(await ended.TakeHandlesAsync().Bounded(), Is.Empty);
    }

    private static ServerServiceDefinition Serve(Func<ServerCallContext, Task> act) =>
        ServerServiceDefinition.CreateBuilder()
            .AddMethod(Unary, async (request, context) =>
            {
                await act(context);
                return request;
            })
            .Build();

    private static Task<string> CallAsync(CallInvoker invoker, CallOptions options) =>
        invoker.AsyncUnaryCall(Unary, null, options, "x").ResponseAsync.Bounded();
}
