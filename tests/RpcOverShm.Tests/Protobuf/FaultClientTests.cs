using Google.Protobuf.WellKnownTypes;
using Google.Rpc;
using Grpc.Core;
using Grpc.Core.Interceptors;
using RpcOverShm.Protobuf;
using Metadata = Grpc.Core.Metadata;
using Payload = RpcOverShm.Testing.Protos.Payload;
using Status = Grpc.Core.Status;

namespace RpcOverShm.Tests.Protobuf;

/// <summary>Everything that reports the failure of a call does so with the typed exception.</summary>
public class FaultClientTests
{
    private static readonly ShmFaultClientInterceptor s_interceptor =
        new(new ShmFaultsBuilder().AddDetail<ErrorInfo>().Build());

    public static IEnumerable<Exception> Untyped =>
    [
        new RpcException(new Status(StatusCode.NotFound, "plain")),
        new RpcException(
            new Status(StatusCode.NotFound, "malformed"),
            new Metadata { { MetadataExtensions.StatusDetailsTrailerName, new byte[] { 0x12, 0xFF } } }),
        new OperationCanceledException(),
        new ObjectDisposedException("call"),
    ];

    [Test]
    public async Task TypedFailure_OfEveryTask_IsConverted()
    {
        Metadata trailers = [];
        trailers.SetRpcStatus(new Google.Rpc.Status { Details = { Any.Pack(new ErrorInfo { Reason = "why" }) } });
        var failure = new RpcException(new Status(StatusCode.NotFound, "text"), trailers);

        foreach ((string what, Exception thrown) in await AllOfAsync(failure))
        {
            Assert.That(thrown, Is.TypeOf<ShmFaultException<ErrorInfo>>(), what);
            Assert.That(thrown.InnerException, Is.SameAs(failure), what);
            Assert.That(thrown.Message, Is.EqualTo("text"), what);
            Assert.That(((ShmFaultException)thrown).DetailMessage, Is.EqualTo(new ErrorInfo { Reason = "why" }), what);
        }
    }

    [TestCaseSource(nameof(Untyped))]
    public async Task OtherFailure_OfEveryTask_IsItself(Exception failure)
    {
        foreach ((string what, Exception thrown) in await AllOfAsync(failure))
        {
            Assert.That(thrown, Is.SameAs(failure), what);
        }
    }

    [Test]
    public async Task StatusAndTrailers_AreThoseOfTheCall()
    {
        CallInvoker invoker = new FailingInvoker(new OperationCanceledException()).Intercept(s_interceptor);
        using AsyncUnaryCall<Payload> call = new ScriptClient(invoker).UnaryAsync(new Payload());
        await Task.WhenAny(call.ResponseAsync);

        Assert.That(call.GetStatus(), Is.EqualTo(new Status(StatusCode.DataLoss, "of the call")));
        Assert.That(call.GetTrailers().GetValue("of-the"), Is.EqualTo("call"));
    }

    private static async Task<List<(string What, Exception Thrown)>> AllOfAsync(Exception failure)
    {
        var client = new ScriptClient(new FailingInvoker(failure).Intercept(s_interceptor));
        AsyncUnaryCall<Payload> unary = client.UnaryAsync(new Payload());
        AsyncServerStreamingCall<Payload> server = client.ServerStream(new Payload());
        AsyncClientStreamingCall<Payload, Payload> requests = client.ClientStream();
        AsyncDuplexStreamingCall<Payload, Payload> duplex = client.Duplex();
        return
        [
            ("blocking", Assert.Catch(() => client.Unary(new Payload()))!),
            ("response", await OfAsync(unary.ResponseAsync)),
            ("await", await OfAsync(AwaitAsync(unary))),
            ("headers of unary", await OfAsync(unary.ResponseHeadersAsync)),
            ("read", await OfAsync(server.ResponseStream.MoveNext(CancellationToken.None))),
            ("headers of server streaming", await OfAsync(server.ResponseHeadersAsync)),
            ("write", await OfAsync(requests.RequestStream.WriteAsync(new Payload()))),
            ("completion", await OfAsync(requests.RequestStream.CompleteAsync())),
            ("response of client streaming", await OfAsync(requests.ResponseAsync)),
            ("headers of client streaming", await OfAsync(requests.ResponseHeadersAsync)),
            ("write of duplex", await OfAsync(duplex.RequestStream.WriteAsync(new Payload(), CancellationToken.None))),
            ("read of duplex", await OfAsync(duplex.ResponseStream.MoveNext(CancellationToken.None))),
            ("headers of duplex", await OfAsync(duplex.ResponseHeadersAsync)),
        ];
    }

    private static async Task AwaitAsync(AsyncUnaryCall<Payload> call) => await call;

    private static async Task<Exception> OfAsync(Task task)
    {
        try
        {
            await task.Bounded();
        }
        catch (Exception exception)
        {
            return exception;
        }

        throw new AssertionException("It did not fail.");
    }
}
