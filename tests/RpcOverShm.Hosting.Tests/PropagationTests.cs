using System.Globalization;
using Grpc.Core;
using Microsoft.Extensions.DependencyInjection;
using RpcOverShm.Hosting.Tests.Support;
using RpcOverShm.Testing;
using RpcOverShm.Testing.Protos;
using ConformanceClient = RpcOverShm.Testing.Protos.Conformance.ConformanceClient;

namespace RpcOverShm.Hosting.Tests;

/// <summary>Deadline and cancellation of a server's call in the calls that its method makes.</summary>
public class PropagationTests : HostFixture
{
    private static readonly DateTime s_soon = DateTime.UtcNow.AddHours(1);
    private static readonly DateTime s_late = DateTime.UtcNow.AddHours(2);

    private ShmChannel _channel = null!;

    [SetUp]
    public async Task StartHost()
    {
        string inner = $"shm://{UniqueName.Next()}";
        Host.Services.AddShmServer("inner", inner).AddService<InnerService>();
        Host.Services.AddShmClient<ConformanceClient>(inner).EnableCallContextPropagation();
        Host.Services.AddShmClient<ConformanceClient>("lenient", inner)
            .EnableCallContextPropagation(options => options.SuppressContextNotFoundErrors = true);
        Host.Services.AddShmServer("outer", Host.Address).AddService<TestService>();
        await Host.StartAsync();
        _channel = Host.Open();
    }

    [TearDown]
    public void DisposeChannel() => _channel.Dispose();

    [Test]
    public async Task Deadline_OfTheOuterCall_IsThatOfTheInnerOne()
    {
        Host.Methods.Echo = (provider, _) => Client(provider).AskAsync();

        Assert.That(await DeadlineAsync(s_soon), Is.EqualTo(s_soon).Within(TimeSpan.FromMinutes(1)));
        Assert.That(await DeadlineAsync(null), Is.EqualTo(DateTime.MaxValue));
    }

    [Test]
    public async Task Deadline_OfBothCalls_IsTheEarlierOne([Values] bool isInnerSooner)
    {
        DateTime ofInner = isInnerSooner ? s_soon : s_late;
        Host.Methods.Echo = (provider, _) => Client(provider).AskAsync(new CallOptions(deadline: ofInner));

        DateTime seen = await DeadlineAsync(isInnerSooner ? s_late : s_soon);

        Assert.That(seen, Is.EqualTo(s_soon).Within(TimeSpan.FromMinutes(1)));
    }

    [Test]
    public async Task Cancellation_OfTheOuterCall_CancelsTheInnerOne([Values] bool hasTokenOfItsOwn)
    {
        using var never = new CancellationTokenSource();
        Host.Methods.Echo = async (provider, _) =>
        {
            CancellationToken own = hasTokenOfItsOwn ? never.Token : CancellationToken.None;
            await Client(provider).DelayAsync(new DelayRequest(), cancellationToken: own);
            return "";
        };
        using var cancel = new CancellationTokenSource();
        Task<string> call = _channel.AskAsync(new CallOptions(cancellationToken: cancel.Token));
        await Host.Diary.Until("delay begins");

        await cancel.CancelAsync();

        await Host.Diary.Until("delay cancelled");
        RpcException? failure = Assert.CatchAsync<RpcException>(() => call.Bounded());
        Assert.That(failure!.StatusCode, Is.EqualTo(StatusCode.Cancelled));
    }

    [Test]
    public async Task Cancellation_OfTheInnersOwnToken_CancelsOnlyTheInnerOne()
    {
        using var own = new CancellationTokenSource();
        Host.Methods.Echo = async (provider, _) =>
        {
            try
            {
                await Client(provider).DelayAsync(new DelayRequest(), cancellationToken: own.Token);
                return "went on";
            }
            catch (RpcException exception)
            {
                return $"{exception.StatusCode}";
            }
        };
        Task<string> call = _channel.AskAsync();
        await Host.Diary.Until("delay begins");

        await own.CancelAsync();

        Assert.That(await call.Bounded(), Is.EqualTo("Cancelled"));
    }

    [Test]
    public async Task Failures_OfCallsThatNobodyAwaits_AreNeverUnobserved()
    {
        const int Calls = 20;
        Host.Methods.Echo = async (provider, _) =>
        {
            using var own = new CancellationTokenSource();
            await DropFailedCallsAsync(Client(provider), own, Calls);
            return "";
        };

        IReadOnlyList<Exception> unobserved = await Unobserved.InAsync(() => _channel.AskAsync().Bounded());

        Assert.That(unobserved, Is.Empty);
    }

    [TestCase("Sum")]
    [TestCase("Count")]
    [TestCase("EchoAll")]
    [TestCase("Blocking")]
    public async Task Calls_OfEachShapeWithATokenOfTheirOwn_EndAsUsual(string shape)
    {
        Host.Methods.Echo = async (provider, _) =>
        {
            using var own = new CancellationTokenSource();
            return await CallAsync(Client(provider), shape, own.Token);
        };

        Assert.That(await _channel.AskAsync().Bounded(), Is.EqualTo($"{shape} ended"));
    }

    [Test]
    public void Call_OutsideOfAMethod_ThrowsAndSaysWhatToDo()
    {
        InvalidOperationException? failure = Assert.CatchAsync<InvalidOperationException>(
            () => Client(Host.Provider).AskAsync());

        Assert.That(failure!.Message, Does.Contain("SuppressContextNotFoundErrors"));
    }

    [Test]
    public async Task Call_OutsideOfAMethodThatIsAllowed_IsAnOrdinaryOne()
    {
        ConformanceClient client = Host.Provider.GetRequiredService<ShmClientFactory>()
            .CreateClient<ConformanceClient>("lenient");

        Assert.That(await client.AskAsync().Bounded(), Is.EqualTo(Text(DateTime.MaxValue)));
    }

    [Test]
    public async Task Call_OfATaskThatAMethodLeftBehind_Throws()
    {
        var ended = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
        Task<string> left = Task.FromResult("");
        Host.Methods.Echo = (provider, _) =>
        {
            left = LaterAsync(Client(provider));
            return Task.FromResult("ended");
        };
        Assert.That(await _channel.AskAsync().Bounded(), Is.EqualTo("ended"));

        ended.SetResult();

        Assert.CatchAsync<InvalidOperationException>(() => left.Bounded());

        async Task<string> LaterAsync(ConformanceClient client)
        {
            await ended.Task;
            return await client.AskAsync();
        }
    }

    private static ConformanceClient Client(IServiceProvider provider) =>
        provider.GetRequiredService<ConformanceClient>();

    /// <summary>Makes calls that fail by a token of their own, and observes none of their tasks.</summary>
    private static async Task DropFailedCallsAsync(ConformanceClient client, CancellationTokenSource own, int count)
    {
        var tasks = new List<Task>();
        for (int i = 0; i < count; i++)
        {
            AsyncUnaryCall<Payload> delay = client.DelayAsync(new DelayRequest(), cancellationToken: own.Token);
            tasks.Add(delay.ResponseAsync);
            tasks.Add(delay.ResponseHeadersAsync);
            tasks.Add(client.Sum(cancellationToken: own.Token).ResponseAsync);
        }

        await own.CancelAsync();
        await Timeouts.Eventually(() => tasks.TrueForAll(task => task.IsCompleted));
    }

    private static string Text(DateTime time) => time.ToString("O", CultureInfo.InvariantCulture);

    private static async Task<string> CallAsync(ConformanceClient client, string shape, CancellationToken token)
    {
        switch (shape)
        {
            case "Sum":
                using (var call = client.Sum(cancellationToken: token))
                {
                    await call.RequestStream.CompleteAsync();
                    await call;
                }

                break;
            case "Count":
                using (var call = client.Count(new CountRequest { Count = 2 }, cancellationToken: token))
                {
                    await ReadAsync(call.ResponseStream);
                }

                break;
            case "EchoAll":
                using (var call = client.EchoAll(cancellationToken: token))
                {
                    await call.RequestStream.WriteAsync(Answer.Of("one"), CancellationToken.None);
                    await call.RequestStream.CompleteAsync();
                    await ReadAsync(call.ResponseStream);
                }

                break;
            default:
                client.Echo(new Payload(), cancellationToken: token);
                break;
        }

        return $"{shape} ended";
    }

    private static async Task ReadAsync<T>(IAsyncStreamReader<T> stream)
    {
        while (await stream.MoveNext(CancellationToken.None))
        {
            Assert.That(stream.Current, Is.Not.Null);
        }
    }

    private async Task<DateTime> DeadlineAsync(DateTime? deadline)
    {
        string text = await _channel.AskAsync(new CallOptions(deadline: deadline)).Bounded();
        return DateTime.Parse(text, CultureInfo.InvariantCulture, DateTimeStyles.RoundtripKind);
    }

    /// <summary>Answers with the deadline that it sees, and notes that a delay begins and is cancelled.</summary>
    private sealed class InnerService(Diary diary) : Conformance.ConformanceBase
    {
        private readonly ConformanceService _usual = new();

        public override Task<Payload> Echo(Payload request, ServerCallContext context) =>
            Task.FromResult(Answer.Of(Text(context.Deadline)));

        public override async Task<Payload> Delay(DelayRequest request, ServerCallContext context)
        {
            diary.Note("delay begins");
            try
            {
                await Task.Delay(Timeout.Infinite, context.CancellationToken);
            }
            finally
            {
                diary.Note("delay cancelled");
            }

            return new Payload();
        }

        public override Task<Number> Sum(IAsyncStreamReader<Number> requestStream, ServerCallContext context) =>
            _usual.Sum(requestStream, context);

        public override Task Count(
            CountRequest request, IServerStreamWriter<Number> responseStream, ServerCallContext context) =>
            _usual.Count(request, responseStream, context);

        public override Task EchoAll(
            IAsyncStreamReader<Payload> requestStream,
            IServerStreamWriter<Payload> responseStream,
            ServerCallContext context) => _usual.EchoAll(requestStream, responseStream, context);
    }
}
