using Grpc.Core.Api.Tests.Fakes;

namespace Grpc.Core.Api.Tests.Behaviour;

public class AsyncUnaryCallTests
{
    private readonly CallFunctions _functions = new();

    [Test]
    public async Task Call_MadeOfClosures_UsesThem()
    {
        var response = new TaskCompletionSource<string>();
        var call = new AsyncUnaryCall<string>(
            response.Task, _functions.Headers, _functions.GetStatus, _functions.GetTrailers, _functions.Dispose);

        response.SetResult("response");

        Assert.That(call.ResponseAsync, Is.SameAs(response.Task));
        Assert.That(await call, Is.EqualTo("response"));
        Assert.That(await call.ConfigureAwait(false), Is.EqualTo("response"));
        _functions.AssertUsedBy(() => call.ResponseHeadersAsync, call.GetStatus, call.GetTrailers, call.Dispose);
    }

    [Test]
    public async Task Call_MadeOfStateFunctions_PassesThemTheState()
    {
        var call = new AsyncUnaryCall<string>(
            Task.FromResult("response"),
            CallFunctions.HeadersOf,
            CallFunctions.StatusOf,
            CallFunctions.TrailersOf,
            CallFunctions.DisposeOf,
            _functions);

        Assert.That(await call, Is.EqualTo("response"));
        Assert.That(await call.ConfigureAwait(true), Is.EqualTo("response"));
        _functions.AssertUsedBy(() => call.ResponseHeadersAsync, call.GetStatus, call.GetTrailers, call.Dispose);
    }

    [Test]
    public void ResponseHeadersAsync_OfStateFunctions_IsAskedForWhenRead()
    {
        var asked = 0;
        var call = new AsyncUnaryCall<string>(
            Task.FromResult("response"),
            _ =>
            {
                asked++;
                return Task.FromResult(Metadata.Empty);
            },
            CallFunctions.StatusOf,
            CallFunctions.TrailersOf,
            CallFunctions.DisposeOf,
            _functions);

        Assert.That(asked, Is.Zero);
        _ = call.ResponseHeadersAsync;
        Assert.That(asked, Is.EqualTo(1));
    }

    [Test]
    public void Await_FailedCall_ThrowsItsException()
    {
        var failure = new RpcException(new Status(StatusCode.Aborted, "stop"));
        var call = new AsyncUnaryCall<string>(
            Task.FromException<string>(failure),
            _functions.Headers,
            _functions.GetStatus,
            _functions.GetTrailers,
            _functions.Dispose);

        Assert.That(async () => await call, Throws.Exception.SameAs(failure));
    }

    [Test]
    public void GetStatus_BeforeTheEnd_ThrowsWhatTheTransportThrows()
    {
        var call = new AsyncUnaryCall<string>(
            new TaskCompletionSource<string>().Task,
            _functions.Headers,
            () => throw new InvalidOperationException("Still running."),
            () => throw new InvalidOperationException("Still running."),
            _functions.Dispose);

        Assert.That(() => call.GetStatus(), Throws.InvalidOperationException.With.Message.EqualTo("Still running."));
        Assert.That(call.GetTrailers, Throws.InvalidOperationException.With.Message.EqualTo("Still running."));
    }
}
