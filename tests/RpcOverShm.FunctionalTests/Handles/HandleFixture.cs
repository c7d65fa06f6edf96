using System.Runtime.InteropServices;
using Microsoft.Win32.SafeHandles;
using RpcOverShm.FunctionalTests.Codecs;

namespace RpcOverShm.FunctionalTests.Handles;

/// <summary>
/// The base of fixtures with handles: a service that reads each file that comes with a message, and answers its text
/// and a new file with it.
/// </summary>
internal abstract class HandleFixture() : RigFixture(RigKind.Shm)
{
    protected static EchoMethods<string> Methods { get; } = new("test.Handles", Marshallers.StringMarshaller);

    protected static RigOptions Allowed { get; } = new()
    {
        Server = static options => options.Handles.AllowHandles = true,
    };

    protected OpenThings Things { get; private set; } = null!;

    [SetUp]
    public void Open() => Things = new OpenThings();

    [TearDown]
    public void Close() => Things.Dispose();

    protected async Task<(ShmRig Rig, ShmChannel Channel)> StartPassingAsync(
        RigOptions? options = null,
        Action<ShmChannelOptions>? change = null,
        ServerServiceDefinition? service = null)
    {
        ShmRig rig = await StartShmAsync(options ?? Allowed, service ?? Build());
        ShmChannel channel = rig.OpenChannel(own =>
        {
            own.Handles.AllowHandles = true;
            change?.Invoke(own);
        });
        await channel.ConnectAsync().Bounded();
        return (rig, channel);
    }

    /// <summary>Waits until neither side holds a handle of the other one that nobody has taken.</summary>
    protected static Task AssertNothingHeldAsync(ShmRig rig, ShmChannel channel) => Timeouts.Eventually(
        () => rig.OnlyConnection.Handles!.Held == 0 && channel.Connections.Current!.Handles!.Held == 0);

    protected static async Task<string> TextOfAsync(SafeFileHandle[] handles)
    {
        var texts = new List<string>();
        foreach (SafeFileHandle handle in handles)
        {
            texts.Add(await OpenThings.ReadAsync(handle));
        }

        return string.Join('+', texts);
    }

    protected ServerServiceDefinition Build() => ServerServiceDefinition.CreateBuilder()
        .AddMethod(Methods.Of(MethodType.Unary), AnswerAsync)
        .AddMethod(Methods.Of(MethodType.ClientStreaming), AnswerLastAsync)
        .AddMethod(Methods.Of(MethodType.ServerStreaming), AnswerOnceAsync)
        .AddMethod(Methods.Of(MethodType.DuplexStreaming), AnswerEachAsync)
        .Build();

    /// <summary>Makes a call of any shape with one message; returns the answer with the text of its files.</summary>
    protected async Task<string> CallAsync(
        CallInvoker invoker, MethodType shape, string message, CallOptions options, params SafeHandle[] handles)
    {
        using var received = new ShmReceivedHandles();
        options = options.WithHandles(received, handles);
        string answer = (await AnyCall.CallAsync(invoker, Methods.Of(shape), message, options).Bounded())!;
        return $"{answer}: {await TextOfAsync(await received.TakeAsync().Bounded())}";
    }

    private async Task<string> AnswerAsync(string request, ServerCallContext context)
    {
        string text = await TextOfAsync(await context.TakeHandlesAsync());
        context.SendHandles(Things.File($"answer to {text}"));
        return $"{request} got {text}";
    }

    private async Task<string> AnswerLastAsync(IAsyncStreamReader<string> requests, ServerCallContext context)
    {
        string text = await TextOfAsync(await context.TakeHandlesAsync());
        await foreach (string request in requests.ReadAllAsync(context.CancellationToken))
        {
            text += $"|{request} got {await TextOfAsync(await context.TakeHandlesAsync())}";
        }

        context.SendHandles(Things.File($"answer to {text}"));
        return text;
    }

    private async Task AnswerOnceAsync(
        string request, IServerStreamWriter<string> responses, ServerCallContext context)
    {
        string text = await TextOfAsync(await context.TakeHandlesAsync());
        await responses.WriteAsync($"{request} got {text}", [Things.File($"answer to {text}")]);
    }

    private async Task AnswerEachAsync(
        IAsyncStreamReader<string> requests, IServerStreamWriter<string> responses, ServerCallContext context)
    {
        await foreach (string request in requests.ReadAllAsync(context.CancellationToken))
        {
            string text = await TextOfAsync(await context.TakeHandlesAsync());
            await responses.WriteAsync($"{request} got {text}", [Things.File($"answer to {text}")]);
        }
    }
}
