using Grpc.Core;
using RpcOverShm.FunctionalTests.Rigs;
using RpcOverShm.Testing;
using RpcOverShm.Testing.Protos;

namespace RpcOverShm.FunctionalTests;

/// <summary>What travels beside the messages: request metadata, response headers, trailers.</summary>
[TestFixture(RigKind.Shm)]
[TestFixture(RigKind.GrpcCore)]
internal sealed class MetadataTests(RigKind kind) : RigFixture(kind)
{
    private static readonly byte[] s_binary = [0, 1, 2, 127, 128, 254, 255, 0];

    [Test]
    public async Task Request_TextAndBinary_ReachTheHandlerAndComeBackBothWays()
    {
        CallRig rig = await StartAsync(null, ConformanceContract.BindService(new ConformanceService()));
        var headers = new Metadata { { "text", "value with spaces, ~!" }, { "data-bin", s_binary }, { "empty", "" } };

        using AsyncUnaryCall<Testing.Protos.Metadata> call = rig.Conformance.EchoMetadataAsync(Payloads.Empty, headers);
        await call.ResponseAsync.Bounded();

        foreach (Metadata echoed in new[] { await call.ResponseHeadersAsync.Bounded(), call.GetTrailers() })
        {
            Assert.That(echoed.GetValue("text"), Is.EqualTo("value with spaces, ~!"));
            Assert.That(echoed.GetValueBytes("data-bin"), Is.EqualTo(s_binary));
            Assert.That(echoed.GetValue("empty"), Is.Empty);
        }
    }

    [Test]
    public async Task Request_Keys_AreLowerCase()
    {
        Metadata seen = await HandlersViewOfAsync(new Metadata { { "MixedCase", "Value" } });

        Assert.That(seen.Single(entry => entry.Value == "Value").Key, Is.EqualTo("mixedcase"));
    }

    [Test]
    public async Task Request_Duplicates_KeepTheirOrder()
    {
        var headers = new Metadata { { "key", "one" }, { "other", "x" }, { "key", "two" }, { "key", "three" } };

        Metadata seen = await HandlersViewOfAsync(headers);

        Assert.That(seen.GetAll("key").Select(entry => entry.Value), Is.EqualTo(new[] { "one", "two", "three" }));
        Assert.That(seen.GetValue("key"), Is.EqualTo("three"));
    }

    [Test]
    public async Task Request_BinaryDuplicates_KeepTheirOrder()
    {
        var headers = new Metadata { { "key-bin", [1] }, { "key-bin", [] }, { "key-bin", [3, 3, 3] } };

        Metadata seen = await HandlersViewOfAsync(headers);

        Assert.That(seen.GetAll("key-bin").Select(entry => entry.ValueBytes.Length), Is.EqualTo(new[] { 1, 0, 3 }));
    }

    [Test]
    public async Task Response_DuplicateHeadersAndTrailers_KeepTheirOrder()
    {
        CallRig rig = await StartAsync(new Script
        {
            Unary = async (request, context) =>
            {
                await context.WriteResponseHeadersAsync(
                    new Metadata { { "h", "1" }, { "h", "2" }, { "h-bin", s_binary } });
                context.ResponseTrailers.Add("t", "3");
                context.ResponseTrailers.Add("t", "4");
                context.ResponseTrailers.Add("t-bin", s_binary);
                return request;
            },
        });

        using AsyncUnaryCall<Payload> call = rig.Client.UnaryAsync(Payloads.Empty);
        await call.ResponseAsync.Bounded();
        Metadata headers = await call.ResponseHeadersAsync.Bounded();

        Assert.That(headers.GetAll("h").Select(entry => entry.Value), Is.EqualTo(new[] { "1", "2" }));
        Assert.That(headers.GetValueBytes("h-bin"), Is.EqualTo(s_binary));
        Assert.That(call.GetTrailers().GetAll("t").Select(entry => entry.Value), Is.EqualTo(new[] { "3", "4" }));
        Assert.That(call.GetTrailers().GetValueBytes("t-bin"), Is.EqualTo(s_binary));
    }

    [Test]
    public async Task Headers_AreThere_BeforeTheFirstMessage()
    {
        var mayWrite = new TaskCompletionSource();
        CallRig rig = await StartAsync(new Script
        {
            ServerStream = async (request, responses, context) =>
            {
                await context.WriteResponseHeadersAsync(new Metadata { { "early", "yes" } });
                await mayWrite.Task;
                await responses.WriteAsync(request);
            },
        });

        using AsyncServerStreamingCall<Payload> call = rig.Client.ServerStream(Payloads.Empty);
        Task<bool> first = call.ResponseStream.MoveNext(CancellationToken.None);
        Metadata headers = await call.ResponseHeadersAsync.Bounded();

        Assert.That(headers.GetValue("early"), Is.EqualTo("yes"));
        Assert.That(first.IsCompleted, Is.False);
        mayWrite.SetResult();
        Assert.That(await first.Bounded());
    }

    [Test]
    public async Task Headers_NotWritten_AreThereWithTheFirstMessage()
    {
        var mayEnd = new TaskCompletionSource();
        CallRig rig = await StartAsync(new Script
        {
            ServerStream = async (request, responses, _) =>
            {
                await responses.WriteAsync(request);
                await mayEnd.Task;
            },
        });

        using AsyncServerStreamingCall<Payload> call = rig.Client.ServerStream(Payloads.Empty);
        Metadata headers = await call.ResponseHeadersAsync.Bounded();

        Assert.That(headers.GetValue("early"), Is.Null);
        mayEnd.SetResult();
    }

    [Test]
    public async Task Headers_BeforeAnythingElse_AreNotThere()
    {
        var mayEnd = new TaskCompletionSource();
        CallRig rig = await StartAsync(new Script
        {
            Unary = async (request, _) =>
            {
                await mayEnd.Task;
                return request;
            },
        });

        using AsyncUnaryCall<Payload> call = rig.Client.UnaryAsync(Payloads.Empty);
        Assert.That(call.ResponseHeadersAsync.IsCompleted, Is.False);
        mayEnd.SetResult();
        await call.ResponseAsync.Bounded();

        Assert.That(await call.ResponseHeadersAsync.Bounded(), Is.Not.Null);
    }

    [Test]
    public async Task TrailersOnly_HeadersStillComplete()
    {
        CallRig rig = await StartAsync(new Script
        {
            Unary = (_, _) => throw new RpcException(
                new Status(StatusCode.NotFound, "nothing"), new Metadata { { "why", "because" } }),
        });

        using AsyncUnaryCall<Payload> call = rig.Client.UnaryAsync(Payloads.Empty);
        RpcException failure = await FailureOf(call);
        Metadata headers = await call.ResponseHeadersAsync.Bounded();

        Assert.That(headers.GetValue("why"), Is.Null);
        Assert.That(failure.Trailers.GetValue("why"), Is.EqualTo("because"));
        Assert.That(call.GetTrailers().GetValue("why"), Is.EqualTo("because"));
    }

    [Test]
    public async Task Trailers_SetAfterHeadersAndMessages_AreDelivered()
    {
        CallRig rig = await StartAsync(new Script
        {
            ServerStream = async (request, responses, context) =>
            {
                await context.WriteResponseHeadersAsync([]);
                await responses.WriteAsync(request);
                context.ResponseTrailers.Add("late", "yes");
            },
        });

        using AsyncServerStreamingCall<Payload> call = rig.Client.ServerStream(Payloads.Empty);
        await call.ResponseStream.ReadAllAsync();

        Assert.That(call.GetTrailers().GetValue("late"), Is.EqualTo("yes"));
    }

    [Test]
    public async Task Trailers_OfContextAndException_AreBothDelivered()
    {
        CallRig rig = await StartAsync(new Script
        {
            Unary = (_, context) =>
            {
                context.ResponseTrailers.Add("where", "context");
                throw new RpcException(new Status(StatusCode.Aborted, ""), new Metadata { { "where", "exception" } });
            },
        });

        RpcException failure = await FailureOf(rig.Client.UnaryAsync(Payloads.Empty));

        Assert.That(
            failure.Trailers.GetAll("where").Select(entry => entry.Value),
            Is.EqualTo(new[] { "context", "exception" }));
    }

    [Test]
    public async Task Headers_WrittenTwice_Throws()
    {
        Exception? exception = await InHandlerAsync(async (responses, context) =>
        {
            await context.WriteResponseHeadersAsync([]);
            await context.WriteResponseHeadersAsync([]);
        });

        Assert.That(exception, Is.InstanceOf<InvalidOperationException>());
    }

    [Test]
    public async Task Headers_AfterAMessage_Throws()
    {
        Exception? exception = await InHandlerAsync(async (responses, context) =>
        {
            await responses.WriteAsync(Payloads.Empty);
            await context.WriteResponseHeadersAsync([]);
        });

        Assert.That(exception, Is.InstanceOf<InvalidOperationException>());
    }

    [Test]
    public async Task Headers_Null_Throws()
    {
        Exception? exception = await InHandlerAsync((_, context) => context.WriteResponseHeadersAsync(null!));

        Assert.That(exception, IsShm ? Is.InstanceOf<ArgumentNullException>() : Is.Not.Null);
    }

    private async Task<Metadata> HandlersViewOfAsync(Metadata headers)
    {
        var seen = new TaskCompletionSource<Metadata>();
        CallRig rig = await StartAsync(new Script
        {
            Unary = (request, context) =>
            {
                seen.SetResult(context.RequestHeaders);
                return Task.FromResult(request);
            },
        });
        await rig.Client.UnaryAsync(Payloads.Empty, new CallOptions(headers)).ResponseAsync.Bounded();
        return await seen.Task.Bounded();
    }

    private async Task<Exception?> InHandlerAsync(Func<IServerStreamWriter<Payload>, ServerCallContext, Task> action)
    {
        var result = new TaskCompletionSource<Exception?>();
        CallRig rig = await StartAsync(new Script
        {
            ServerStream = async (_, responses, context) =>
            {
                try
                {
                    await action(responses, context);
                    result.SetResult(null);
                }
                catch (Exception exception)
                {
                    result.SetResult(exception);
                }
            },
        });
        using AsyncServerStreamingCall<Payload> call = rig.Client.ServerStream(Payloads.Empty);
        return await result.Task.Bounded();
    }
}
