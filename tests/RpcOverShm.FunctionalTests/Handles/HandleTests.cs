using System.Runtime.InteropServices;
using Microsoft.Win32.SafeHandles;

namespace RpcOverShm.FunctionalTests.Handles;

/// <summary>Files, pipes and sockets that go with calls and messages, and are used at the other end.</summary>
[LinuxOnly("Windows passes no handles after the handshake.")]
internal sealed class HandleTests : HandleFixture
{
    private static readonly ShmServiceConfig s_retries = new()
    {
        MethodConfigs =
        {
            new ShmMethodConfig
            {
                Names = { new ShmMethodName { Service = "test.Handles" } },
                RetryPolicy = new ShmRetryPolicy
                {
                    MaxAttempts = 5,
                    InitialBackoff = TimeSpan.FromMilliseconds(1),
                    MaxBackoff = TimeSpan.FromMilliseconds(1),
                    BackoffMultiplier = 1,
                    RetryableStatusCodes = { StatusCode.Unavailable },
                },
            },
        },
    };

    [Test]
    public async Task Handle_OfEveryShape_IsUsedAtTheOtherEnd([Values] MethodType shape)
    {
        (ShmRig rig, ShmChannel channel) = await StartPassingAsync();
        for (int round = 1; round <= 3; round++)
        {
            string answer = await CallAsync(
                channel.CreateCallInvoker(), shape, $"{round}", default, Things.File($"file {round}"));

            Assert.That(answer, Does.EndWith($"answer to {(shape == MethodType.ClientStreaming
                ? $"file {round}|{round} got "
                : $"file {round}")}"));
        }

        await AssertNothingHeldAsync(rig, channel);
    }

    [Test]
    public async Task Handles_Sixteen_ComeInTheirOrder()
    {
        (_, ShmChannel channel) = await StartPassingAsync();
        SafeHandle[] handles = [.. Enumerable.Range(0, 16).Select(number => Things.File($"{number}"))];

        string answer = await CallAsync(channel.CreateCallInvoker(), MethodType.Unary, "all", default, handles);

        Assert.That(answer, Does.StartWith($"all got {string.Join('+', Enumerable.Range(0, 16))}: "));
    }

    [Test]
    public async Task Pipe_AndSocket_AreUsedAtTheOtherEnd([Values] bool isSocket)
    {
        string text = "";
        (_, ShmChannel channel) = await StartPassingAsync(service: Serve(async context =>
        {
            SafeFileHandle handle = (await context.TakeHandlesAsync()).Single();
            text = isSocket ? await OpenThings.ReadSocketAsync(handle) : await OpenThings.ReadAsync(handle);
            context.SendHandles(isSocket ? Things.Socket("back") : Things.Pipe("back"));
        }));
        using var received = new ShmReceivedHandles();
        CallOptions options = default(CallOptions).WithHandles(
            received, isSocket ? Things.Socket("there") : Things.Pipe("there"));

        await CallAsync(channel.CreateCallInvoker(), options);

        SafeFileHandle back = (await received.TakeAsync().Bounded()).Single();
        Assert.That(text, Is.EqualTo("there"));
        Assert.That(
            isSocket ? await OpenThings.ReadSocketAsync(back) : await OpenThings.ReadAsync(back), Is.EqualTo("back"));
    }

    [Test]
    public async Task Handle_OfABlockingCall_IsUsedAtTheOtherEnd()
    {
        (_, ShmChannel channel) = await StartPassingAsync();
        using var received = new ShmReceivedHandles();
        CallOptions options = default(CallOptions).WithHandles(received, Things.File("a"));

        string answer = await Timeouts.OnThread(() => channel.CreateCallInvoker().BlockingUnaryCall(
            Methods.Of(MethodType.Unary), null, options, "x"));

        Assert.That(answer, Is.EqualTo("x got a"));
        Assert.That(await TextOfAsync(await received.TakeAsync().Bounded()), Is.EqualTo("answer to a"));
    }

    [Test]
    public async Task Handles_OfEachMessageOfADuplexStream_BelongToTheirMessage()
    {
        (ShmRig rig, ShmChannel channel) = await StartPassingAsync();
        using var received = new ShmReceivedHandles();
        using AsyncDuplexStreamingCall<string, string> call = channel.CreateCallInvoker().AsyncDuplexStreamingCall(
            Methods.Of(MethodType.DuplexStreaming), null, default(CallOptions).WithHandles(received));
        string large = new('x', 300_000);
        for (int i = 0; i < 20; i++)
        {
            string message = i % 2 == 0 ? large : "small";
            Task written = i % 3 == 0
                ? call.RequestStream.WriteAsync(message)
                : call.RequestStream.WriteAsync(message, [Things.File($"a{i}"), Things.File($"b{i}")]);
            await written.Bounded();

            Assert.That(await call.ResponseStream.MoveNext().Bounded());

            string text = i % 3 == 0 ? "" : $"a{i}+b{i}";
            Assert.That(call.ResponseStream.Current, Is.EqualTo($"{message} got {text}"));
            Assert.That(await TextOfAsync(await received.TakeAsync().Bounded()), Is.EqualTo($"answer to {text}"));
        }

        Assert.That(await received.TakeAsync().Bounded(), Is.Empty);
        await call.RequestStream.CompleteAsync();
        await AssertNothingHeldAsync(rig, channel);
    }

    [Test]
    public async Task Handles_OfAStreamThatHasSomeFromItsStart_AreNotSentWithItsMessages()
    {
        (_, ShmChannel channel) = await StartPassingAsync();
        using AsyncClientStreamingCall<string, string> call = channel.CreateCallInvoker().AsyncClientStreamingCall(
            Methods.Of(MethodType.ClientStreaming), null, default(CallOptions).WithHandles(Things.File("start")));
        await call.RequestStream.WriteAsync("1").Bounded();
        await call.RequestStream.WriteAsync("2").Bounded();
        await call.RequestStream.WriteAsync("3", [Things.File("last")]).Bounded();
        await call.RequestStream.CompleteAsync();

        string answer = await call.ResponseAsync.Bounded();

        // Which message it was read with depends on how far behind the reader was.
        Assert.That(answer, Does.StartWith("start|1 got "));
        Assert.That(answer.Replace("last", "", StringComparison.Ordinal), Is.EqualTo("start|1 got |2 got |3 got "));
        Assert.That(answer, Has.Length.EqualTo("start|1 got |2 got |3 got last".Length));
    }

    [Test]
    public async Task Handles_OfARetriedCall_AreSentWithEachAttempt()
    {
        int attempts = 0;
        (ShmRig rig, ShmChannel channel) = await StartPassingAsync(
            change: static options => options.ServiceConfig = s_retries,
            service: Serve(async context =>
            {
                string text = await TextOfAsync(await context.TakeHandlesAsync());
                context.SendHandles(Things.File($"{++attempts} {text}"));
                if (attempts < 3)
                {
                    throw new RpcException(new Status(StatusCode.Unavailable, "again"));
                }
            }));
        using var received = new ShmReceivedHandles();

        await CallAsync(
            channel.CreateCallInvoker(), default(CallOptions).WithHandles(received, Things.File("same")));

        Assert.That(await TextOfAsync(await received.TakeAsync().Bounded()), Is.EqualTo("3 same"));
        Assert.That(await received.TakeAsync().Bounded(), Is.Empty, "Those of earlier attempts were closed.");
        await AssertNothingHeldAsync(rig, channel);
    }

    [Test]
    public async Task Handles_OfACallback_PassBothWays()
    {
        string answer = "";
        (_, ShmChannel channel) = await StartPassingAsync(
            change: options => options.Callbacks.Services.Add(Build()),
            service: Serve(async context =>
            {
                CallInvoker back = context.GetShmSession().CreateCallInvoker();
                answer = await CallAsync(back, MethodType.Unary, "back", default, Things.File("b"));
            }));

        await CallAsync(channel.CreateCallInvoker(), default);

        Assert.That(answer, Is.EqualTo("back got b: answer to b"));
    }

    [Test]
    public async Task Handles_ThatNobodyTakes_AreClosed()
    {
        (ShmRig rig, ShmChannel channel) = await StartPassingAsync(service: Serve(context =>
        {
            context.SendHandles(Things.File("nobody asked"), Things.File("for these"));
            return Task.CompletedTask;
        }));
        int before = ProcessResources.CountDescriptors();
        for (int i = 0; i < 50; i++)
        {
            using var received = new ShmReceivedHandles();
            CallOptions options = default(CallOptions).WithHandles(Things.File("not taken"));
            await CallAsync(channel.CreateCallInvoker(), i % 2 == 0 ? options : options.WithHandles(received));
        }

        await AssertNothingHeldAsync(rig, channel);
        Things.Dispose();
        await Timeouts.Eventually(() => ProcessResources.CountDescriptors() <= before + 5);
    }

    private static ServerServiceDefinition Serve(Func<ServerCallContext, Task> act) =>
        ServerServiceDefinition.CreateBuilder()
            .AddMethod(Methods.Of(MethodType.Unary), async (request, context) =>
            {
                await act(context);
                return request;
            })
            .Build();

    private static Task<string> CallAsync(CallInvoker invoker, CallOptions options) =>
        invoker.AsyncUnaryCall(Methods.Of(MethodType.Unary), null, options, "x").ResponseAsync.Bounded();
}
