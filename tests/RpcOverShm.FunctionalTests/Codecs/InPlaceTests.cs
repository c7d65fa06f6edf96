using System.Buffers;
using System.Text;
using RpcOverShm.FunctionalTests.Scheduling;

namespace RpcOverShm.FunctionalTests.Codecs;

/// <summary>In-place parsing, which both sides allow because they trust each other.</summary>
internal sealed class InPlaceTests() : RigFixture(RigKind.Shm)
{
    private const int MethodThrew = 301;
    private const string Unreadable = "unreadable";

    private static readonly RigOptions s_inPlace = RigOptions.AnySize with { AllowInPlaceParsing = true };

    private static readonly List<ReadOnlySequence<byte>> s_kept = [];

    [SetUp]
    public void ForgetWhatWasKept() => s_kept.Clear();

    [Test]
    public async Task Unary_OfAnySize_AnswersAsWithoutIt(
        [Values(0, 1, 15, 16, 17, 100, 1000, 16 << 10, (16 << 10) + 1, 100_000, 1 << 20)] int bytes)
    {
        ShmRig rig = await StartShmAsync(new Script(), s_inPlace);
        for (int i = 0; i < 20; i++)
        {
            Payload blocking = await Timeouts.OnThread(() => rig.Client.Unary(Payloads.OfSize(bytes))).Bounded();
            Payload awaited = await rig.Client.UnaryAsync(Payloads.OfSize(bytes)).ResponseAsync.Bounded();

            Assert.That(blocking.IsOfSize(bytes) && awaited.IsOfSize(bytes));
        }
    }

    [Test]
    public async Task ServerStream_ItsOneRequest_IsReadToo()
    {
        ShmRig rig = await StartShmAsync(
            new Script
            {
                ServerStream = async (request, responses, _) =>
                {
                    for (int i = 0; i < 3; i++)
                    {
                        await responses.WriteAsync(request);
                    }
                },
            },
            s_inPlace);
        using AsyncServerStreamingCall<Payload> call = rig.Client.ServerStream(Payloads.Of("again"));

        List<Payload> read = await call.ResponseStream.ToListAsync();

        Assert.That(read.Select(message => message.Text()), Is.EqualTo(new[] { "again", "again", "again" }));
    }

    [Test]
    public async Task Batch_ManyAnswers_AreEachTheirOwn()
    {
        ShmRig rig = await StartShmAsync(new Script(), s_inPlace);
        using ShmCallBatch batch = rig.ShmChannel.CreateBatch();
        var client = new ScriptClient(batch.CallInvoker);
        Task<Payload>[] calls =
            [.. Enumerable.Range(0, 500).Select(i => client.UnaryAsync(Payloads.Of($"{i}")).ResponseAsync)];
        await batch.SendAsync().Bounded();

        Payload[] answers = await Task.WhenAll(calls).Bounded();

        Assert.That(
            answers.Select(answer => answer.Text()), Is.EqualTo(Enumerable.Range(0, 500).Select(i => $"{i}")));
    }

    [Test]
    public async Task Marshaller_ThatThrowsAtTheServer_EndsItsOwnCallOnly()
    {
        ShmRig rig = await StartShmAsync(s_inPlace, Service(failOn: Unreadable));
        rig.Log.Expect(MethodThrew);
        CallInvoker invoker = rig.Channel.CreateCallInvoker();

        RpcException failed = await FailureOf(CallAsync(invoker, Text(failOn: null), Unreadable));

        Assert.That(failed.StatusCode, Is.EqualTo(StatusCode.Unknown));
        Assert.That(await CallAsync(invoker, Text(failOn: null), "fine").Bounded(), Is.EqualTo("fine"));
    }

    [Test]
    public async Task Marshaller_ThatThrowsAtTheClient_EndsItsOwnCallOnly()
    {
        ShmRig rig = await StartShmAsync(s_inPlace, Service(failOn: null));
        CallInvoker invoker = rig.Channel.CreateCallInvoker();
        Method<string, string> method = Text(failOn: Unreadable);

        RpcException awaited = await FailureOf(CallAsync(invoker, method, Unreadable));
        RpcException blocking = await FailureOf(
            Timeouts.OnThread(() => invoker.BlockingUnaryCall(method, null, default, Unreadable)));

        Assert.That((awaited.StatusCode, blocking.StatusCode), Is.EqualTo((StatusCode.Internal, StatusCode.Internal)));
        Assert.That(await CallAsync(invoker, method, "fine").Bounded(), Is.EqualTo("fine"));
    }

    [Test]
    public async Task Marshaller_ThatKeepsTheBytes_FindsNothingAfterwards()
    {
        ShmRig rig = await StartShmAsync(s_inPlace, Service(failOn: null));
        await CallAsync(rig.Channel.CreateCallInvoker(), Text(failOn: null), "keep me").Bounded();

        Assert.That(s_kept, Has.Count.EqualTo(2), "Request and response.");
        foreach (ReadOnlySequence<byte> kept in s_kept)
        {
            Assert.That(() => kept.FirstSpan.Length, Throws.InstanceOf<ArgumentException>());
        }
    }

    [Test]
    public async Task Marshaller_ThatMakesABlockingCall_IsToldThatItCannot()
    {
        ShmRig rig = await StartShmAsync(s_inPlace, Service(failOn: null));
        CallInvoker invoker = rig.Channel.CreateCallInvoker();
        Exception? refusal = null;
        Method<string, string> method = Text(bytes =>
        {
            refusal ??= Assert.Catch(() => invoker.BlockingUnaryCall(Text(failOn: null), null, default, "inner"));
            return Encoding.UTF8.GetString(bytes);
        });

        string answer = await CallAsync(invoker, method, "outer").Bounded();

        Assert.That(refusal, Is.InstanceOf<InvalidOperationException>());
        Assert.That(answer, Is.EqualTo("outer"));
        Assert.That(await CallAsync(invoker, method, "after").Bounded(), Is.EqualTo("after"));
    }

    [Test]
    public async Task Marshaller_ThatLeavesAContext_LeavesItToNobody()
    {
        ShmRig rig = await StartShmAsync(s_inPlace, Service(failOn: null));
        CallInvoker invoker = rig.Channel.CreateCallInvoker();
        var left = new AsyncLocal<string>();
        Method<string, string> method = Text(bytes =>
        {
            ThreadFacts.Change();
            return left.Value = Encoding.UTF8.GetString(bytes);
        });

        (string? Local, bool IsThreadUnchanged) seen = await Timeouts.OnThread(() =>
        {
            left.Value = "mine";
            invoker.BlockingUnaryCall(method, null, default, "theirs");
            return (left.Value, ThreadFacts.OfThisThread().IsUnchanged);
        }).Bounded();

        Assert.That(seen, Is.EqualTo(("mine", true)));
    }

    private static async Task<string> CallAsync(CallInvoker invoker, Method<string, string> method, string text) =>
        await invoker.AsyncUnaryCall(method, null, default, text).ResponseAsync;

    private static ServerServiceDefinition Service(string? failOn) =>
        ServerServiceDefinition.CreateBuilder().AddMethod(Text(failOn), (text, _) => Task.FromResult(text)).Build();

    private static Method<string, string> Text(string? failOn) => Text(bytes => Read(bytes, failOn));

    private static Method<string, string> Text(Func<ReadOnlySequence<byte>, string> read)
    {
        var marshaller = new Marshaller<string>(Write, context => read(context.PayloadAsReadOnlySequence()));
        return new Method<string, string>(MethodType.Unary, "test.InPlace", "Text", marshaller, marshaller);
    }

    private static void Write(string text, SerializationContext context) =>
        context.Complete(Encoding.UTF8.GetBytes(text));

    private static string Read(ReadOnlySequence<byte> bytes, string? failOn)
    {
        string text = Encoding.UTF8.GetString(bytes);
        lock (s_kept)
        {
            s_kept.Add(bytes);
        }

        return text == failOn ? throw new InvalidDataException("This text cannot be read.") : text;
    }
}
