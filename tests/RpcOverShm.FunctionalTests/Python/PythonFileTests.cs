using System.Buffers;
using System.Runtime.InteropServices;
using RpcOverShm.Buffers;

namespace RpcOverShm.FunctionalTests.Python;

/// <summary>
/// Topics and loans by the client that was written from PROTOCOL.md alone, with files that both sides pass to each
/// other.
/// </summary>
[Parallelizable]
internal sealed class PythonFileTests : PythonFixture
{
    private const string Loans = "features=1";
    private const string Topics = "features=2";

    // Some times what a topic of the least capacity holds.
    private const int Many = 500;

    private static readonly ShmTopicOptions s_small = new() { Capacity = 64 << 10, MaxMessages = 64 };

    private ShmTopic<Payload>? _topic;

    [TearDown]
    public void EndTopic() => _topic?.Dispose();

    [Test]
    public async Task SubscriberThatIsWaitedFor_GetsAll_AndSaysWhatItHasRead()
    {
        (_, PythonClient client) = await StartTopicAsync(
            Topics, new ShmSubscribeOptions { MaxWait = TimeSpan.FromMinutes(1) });
        await client.DoAsync("subscribe");
        Assert.That(await client.DoAsync("files"), Is.EqualTo("1 0"));
        Task publishing = Task.Run(PublishMany);

        Assert.That(await client.DoAsync("read-numbers"), Is.EqualTo($"0 last={Many - 1} missing=0 told=0"));
        await publishing.Bounded();
    }

    [Test]
    public async Task SubscriberThatSkips_KnowsWhatItMissed()
    {
        (_, PythonClient client) = await StartTopicAsync(
            Topics, new ShmSubscribeOptions { SlowSubscriber = ShmSlowSubscriber.Skip });
        await client.DoAsync("subscribe");
        await Task.Run(PublishMany).Bounded();

        string facts = await client.DoAsync("read-numbers");

        Assert.That(facts, Does.Match($@"^0 last={Many - 1} missing=(\d\d+) told=\1$"));
    }

    [Test]
    public async Task SubscriberThatMayMissNothing_EndsItsCall()
    {
        (_, PythonClient client) = await StartTopicAsync(
            Topics, new ShmSubscribeOptions { SlowSubscriber = ShmSlowSubscriber.End });
        await client.DoAsync("subscribe");
        await Task.Run(() => PublishNumbers(Many)).Bounded();

        Assert.That(await client.DoAsync("read-numbers"), Does.StartWith("15 last=-1 "));
        await Timeouts.Eventually(() => _topic!.Subscribers == 0);
        Assert.That(await client.DoAsync("unary 100"), Does.StartWith("0 True"), "The connection is unharmed.");
        Assert.That(await client.DoAsync("files"), Is.EqualTo("0 1"), "The server has dropped the topic.");
    }

    [Test]
    public async Task SubscriberThatWaitsTooLong_Ends()
    {
        (_, PythonClient client) = await StartTopicAsync(
            Topics, new ShmSubscribeOptions { MaxWait = TimeSpan.FromMilliseconds(50) });
        await client.DoAsync("subscribe");
        await Task.Run(() => PublishNumbers(Many)).Bounded();

        Assert.That(await client.DoAsync("read-numbers"), Does.StartWith("8 last=").And.EndsWith(" missing=0 told=0"));
    }

    // A doorbell that the publisher forgets fails the test, because this client sleeps without a timeout.
    [Test]
    public async Task SleepingSubscriber_IsRung()
    {
        (_, PythonClient client) = await StartTopicAsync(
            $"sleep=1 {Topics}", new ShmSubscribeOptions { MaxWait = TimeSpan.FromMinutes(1) });
        await client.DoAsync("subscribe");
        for (int i = 0; i < 20; i++)
        {
            Task<string> next = client.DoAsync("next");
            _topic!.Publish(Payloads.Of($"{i}"));

            Assert.That(await next, Is.EqualTo($"{i}"));
        }

        Assert.That(await client.DoAsync("slept"), Is.EqualTo("True True"));
    }

    [Test]
    public async Task ClientThatRefusesTheFile_GetsMessagesOneByOne()
    {
        (_, PythonClient client) = await StartTopicAsync(
            $"refuse=1 {Topics}", new ShmSubscribeOptions { MaxWait = TimeSpan.FromMinutes(1) });
        await client.DoAsync("subscribe");
        Assert.That(await client.DoAsync("files"), Is.EqualTo("0 0"));
        Task publishing = Task.Run(PublishMany);

        Assert.That(await client.DoAsync("read-numbers"), Is.EqualTo($"0 last={Many - 1} missing=0 told=0"));
        await publishing.Bounded();
    }

    [TestCase(100_000)]
    [TestCase(700_000)]
    public async Task Payloads_AreLentBothWays(int bytes)
    {
        var method = new Method<ShmPayload, ShmPayload>(
            MethodType.Unary, "test.Python", "Lend", ShmPayload.Marshaller, ShmPayload.Marshaller);
        int borrowed = 0;
        ShmRig rig = await StartShmAsync(
            RigOptions.AnySize with { Server = static options => options.Loans.AllowLoanedPayloads = true },
            ServerServiceDefinition.CreateBuilder().AddMethod(method, (ShmPayload request, ServerCallContext context) =>
            {
                bool isLent = MemoryMarshal.TryGetMemoryManager<byte, SharedPiece>(request.Bytes.First, out _);
                Interlocked.Add(ref borrowed, isLent ? 1 : 0);
                ShmPayload response = context.RentPayload((int)request.Length);
                request.Bytes.CopyTo(response.Memory.Span);
                request.Dispose();
                return Task.FromResult(response);
            }).Build());
        PythonClient client = await TakeClientAsync();
        await client.DoAsync($"connect {rig.Place} {Loans}");

        // The first answers are copied, while the client maps their file.
        Assert.That(await client.DoAsync($"lend {method.FullName} {bytes} 20"), Is.EqualTo("20 True"));
        Assert.That(borrowed, Is.EqualTo(20));
    }

    private async Task<(ShmRig Rig, PythonClient Client)> StartTopicAsync(string connect, ShmSubscribeOptions options)
    {
        _topic = new ShmTopic<Payload>(s_small);
        var script = new Script
        {
            Duplex = (_, responses, context) => _topic.SubscribeAsync(responses, context, options),
        };
        return await StartPairAsync(script: script, connect: connect);
    }

    private void PublishMany()
    {
        PublishNumbers(Many);
        _topic!.Dispose();
    }

    private void PublishNumbers(int count)
    {
        for (int i = 0; i < count; i++)
        {
            _topic!.Publish(Payloads.Of($"{i:D1000}"));
        }
    }
}
