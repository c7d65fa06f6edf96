using System.Buffers;
using Grpc.Core.Interceptors;
using RpcOverShm.FunctionalTests.Codecs;
using RpcOverShm.FunctionalTests.Inspectors;
using RpcOverShm.FunctionalTests.Interceptors;

namespace RpcOverShm.FunctionalTests.Loans;

/// <summary>Lent payloads that pass interceptors and inspectors, and those of callbacks.</summary>
[LinuxOnly("Windows passes no memory after the handshake, so nothing is lent there.")]
internal sealed class LoanPathTests : LoanFixture
{
    private static readonly EchoMethods<ShmPayload> s_back = new("test.Back", ShmPayload.Marshaller);

    [Test]
    public async Task Payload_ThatPassesInterceptors_IsStillLent([Values] MethodType shape)
    {
        int passed = 0;
        (ShmRig rig, ShmChannel channel) = await StartLendingAsync(Allowed with
        {
            OptionInterceptors =
            [
                new AroundInterceptor((_, next) =>
                {
                    Interlocked.Increment(ref passed);
                    return next();
                }),
            ],
        });
        CallInvoker invoker = channel.CreateCallInvoker().Intercept(metadata =>
        {
            Interlocked.Increment(ref passed);
            return metadata;
        });
        for (byte round = 1; round <= 2; round++)
        {
            using ShmPayload request = await RentAsync(channel, MiB, round);
            using ShmPayload response = await Methods.EchoAsync(invoker, shape, request).Bounded();

            AssertFilled(response, MiB, round);
            Assert.That((WasRequestLent, passed), Is.EqualTo((true, 2 * round)));
            Assert.That(round == 1 || IsShared(response));
            request.Dispose();
            response.Dispose();
            await AssertAllBackAsync(rig, channel);
            await Timeouts.Eventually(() => LoansOf(rig).Lent.MappedBytes >= MiB);
        }

        await AssertAllBackAsync(rig, channel);
    }

    [Test]
    public async Task Payload_ThatAnInspectorSees_IsCopied([Values] MethodType shape, [Values] bool isAtServer)
    {
        var inspector = new RecordingInspector();
        (ShmRig rig, ShmChannel channel) = await StartLendingAsync(
            Allowed with
            {
                Server = options =>
                {
                    options.Loans.AllowLoanedPayloads = true;
                    Add(options.MessageInspectors, isAtServer);
                },
            },
            options => Add(options.MessageInspectors, !isAtServer));
        for (byte round = 1; round <= 2; round++)
        {
            using ShmPayload request = await RentAsync(channel, MiB, round);
            using ShmPayload response =
                await Methods.EchoAsync(channel.CreateCallInvoker(), shape, request).Bounded();

            AssertFilled(response, MiB, round);
            Seen[] seen = [.. inspector.All.Skip(2 * (round - 1))];
            Assert.That(seen.Select(one => one.IsRequest), Is.EqualTo(new[] { true, false }));
            Assert.That(seen.All(one => one.Bytes.Length == MiB && one.Bytes.All(value => value == round)));
            Assert.That(IsShared(response), Is.False, "The inspector's side has the bytes of its own.");
            Assert.That(WasRequestLent, Is.False, "What was inspected is what is read.");
            await Timeouts.Eventually(() => LoansOf(rig).Lent.MappedBytes >= MiB);
        }

        await AssertAllBackAsync(rig, channel);

        void Add(IList<ShmMessageInspector> to, bool isHere)
        {
            if (isHere)
            {
                to.Add(inspector);
            }
        }
    }

    [Test]
    public async Task Payload_OfACallback_IsLentBothWays([Values] MethodType shape)
    {
        bool wasRequestLent = false;
        bool wasResponseLent = false;
        ServerServiceDefinition forward = ServerServiceDefinition.CreateBuilder()
            .AddMethod(Methods.Of(MethodType.Unary), ForwardAsync)
            .Build();
        (ShmRig rig, ShmChannel channel) = await StartLendingAsync(
            service: forward, change: options => options.Callbacks.Services.Add(BuildBack()));

        // Each side has two pieces at a time, so a second file too, of which nobody here hears that it is mapped.
        for (byte round = 1; round <= 20 && !(wasRequestLent && wasResponseLent); round++)
        {
            using ShmPayload request = await RentAsync(channel, MiB, round);
            using ShmPayload response =
                await Methods.EchoAsync(channel.CreateCallInvoker(), MethodType.Unary, request).Bounded();

            AssertFilled(response, MiB, round);
            await Timeouts.Eventually(() => LoansOf(rig).Lent.MappedBytes >= MiB);
        }

        Assert.That((wasRequestLent, wasResponseLent), Is.EqualTo((true, true)));
        await AssertAllBackAsync(rig, channel);

        async Task<ShmPayload> ForwardAsync(ShmPayload request, ServerCallContext context)
        {
            using ShmPayload own = Copy(request, context);
            using ShmPayload answer =
                await s_back.EchoAsync(context.GetShmSession().CreateCallInvoker(), shape, own).Bounded();
            wasResponseLent = IsShared(answer);
            return Copy(answer, context);
        }

        ServerServiceDefinition BuildBack() => ServerServiceDefinition.CreateBuilder()
            .AddMethod(s_back.Of(MethodType.Unary), (request, context) => Task.FromResult(Answer(request, context)))
            .AddMethod(s_back.Of(MethodType.ClientStreaming), async (requests, context) =>
            {
                Assert.That(await requests.MoveNext(CancellationToken.None));
                return Answer(requests.Current, context);
            })
            .AddMethod(s_back.Of(MethodType.ServerStreaming), async (request, responses, context) =>
            {
                using ShmPayload answer = Answer(request, context);
                await responses.WriteAsync(answer);
            })
            .AddMethod(s_back.Of(MethodType.DuplexStreaming), async (requests, responses, context) =>
            {
                Assert.That(await requests.MoveNext(CancellationToken.None));
                using ShmPayload answer = Answer(requests.Current, context);
                await responses.WriteAsync(answer);
            })
            .Build();

        ShmPayload Answer(ShmPayload request, ServerCallContext context)
        {
            wasRequestLent = IsShared(request);
            return Copy(request, context);
        }
    }

    // The payload's bytes in a rented one; the payload is disposed.
    private static ShmPayload Copy(ShmPayload payload, ServerCallContext context)
    {
        ShmPayload copy = context.RentPayload((int)payload.Length);
        payload.Bytes.CopyTo(copy.Memory.Span);
        payload.Dispose();
        return copy;
    }
}
