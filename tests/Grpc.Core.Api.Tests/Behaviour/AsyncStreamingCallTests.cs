using Grpc.Core.Api.Tests.Fakes;

namespace Grpc.Core.Api.Tests.Behaviour;

/// <summary>The three kinds of streaming call, each made in both ways.</summary>
public class AsyncStreamingCallTests
{
    private static readonly FakeStreamWriter<string> s_writer = new();
    private static readonly FakeStreamReader<string> s_reader = new();

    private readonly CallFunctions _functions = new();

    [Test]
    public async Task ClientStreamingCall_MadeOfClosures_UsesThem()
    {
        using var call = new AsyncClientStreamingCall<string, string>(
            s_writer,
            Task.FromResult("response"),
            _functions.Headers,
            _functions.GetStatus,
            _functions.GetTrailers,
            _functions.Dispose);

        await AssertClientStreaming(call);
    }

    [Test]
    public async Task ClientStreamingCall_MadeOfStateFunctions_PassesThemTheState()
    {
        using var call = new AsyncClientStreamingCall<string, string>(
            s_writer,
            Task.FromResult("response"),
            CallFunctions.HeadersOf,
            CallFunctions.StatusOf,
            CallFunctions.TrailersOf,
            CallFunctions.DisposeOf,
            _functions);

        await AssertClientStreaming(call);
    }

    [Test]
    public void ServerStreamingCall_MadeOfClosures_UsesThem()
    {
        using var call = new AsyncServerStreamingCall<string>(
            s_reader, _functions.Headers, _functions.GetStatus, _functions.GetTrailers, _functions.Dispose);

        AssertServerStreaming(call);
    }

    [Test]
    public void ServerStreamingCall_MadeOfStateFunctions_PassesThemTheState()
    {
        using var call = new AsyncServerStreamingCall<string>(
            s_reader,
            CallFunctions.HeadersOf,
            CallFunctions.StatusOf,
            CallFunctions.TrailersOf,
            CallFunctions.DisposeOf,
            _functions);

        AssertServerStreaming(call);
    }

    [Test]
    public void DuplexStreamingCall_MadeOfClosures_UsesThem()
    {
        using var call = new AsyncDuplexStreamingCall<string, string>(
            s_writer, s_reader, _functions.Headers, _functions.GetStatus, _functions.GetTrailers, _functions.Dispose);

        AssertDuplexStreaming(call);
    }

    [Test]
    public void DuplexStreamingCall_MadeOfStateFunctions_PassesThemTheState()
    {
        using var call = new AsyncDuplexStreamingCall<string, string>(
            s_writer,
            s_reader,
            CallFunctions.HeadersOf,
            CallFunctions.StatusOf,
            CallFunctions.TrailersOf,
            CallFunctions.DisposeOf,
            _functions);

        AssertDuplexStreaming(call);
    }

    private async Task AssertClientStreaming(AsyncClientStreamingCall<string, string> call)
    {
        Assert.That(call.RequestStream, Is.SameAs(s_writer));
        Assert.That(await call.ResponseAsync, Is.EqualTo("response"));
        Assert.That(await call, Is.EqualTo("response"));
        Assert.That(await call.ConfigureAwait(false), Is.EqualTo("response"));
        _functions.AssertUsedBy(() => call.ResponseHeadersAsync, call.GetStatus, call.GetTrailers, call.Dispose);
    }

    private void AssertServerStreaming(AsyncServerStreamingCall<string> call)
    {
        Assert.That(call.ResponseStream, Is.SameAs(s_reader));
        _functions.AssertUsedBy(() => call.ResponseHeadersAsync, call.GetStatus, call.GetTrailers, call.Dispose);
    }

    private void AssertDuplexStreaming(AsyncDuplexStreamingCall<string, string> call)
    {
        Assert.That(call.RequestStream, Is.SameAs(s_writer));
        Assert.That(call.ResponseStream, Is.SameAs(s_reader));
        _functions.AssertUsedBy(() => call.ResponseHeadersAsync, call.GetStatus, call.GetTrailers, call.Dispose);
    }
}
