using Grpc.Core.Api.Tests.Fakes;

namespace Grpc.Core.Api.Tests.Behaviour;

/// <summary>The stream interfaces: what they do by themselves, and how they convert.</summary>
public class StreamInterfaceTests
{
    [Test]
    public async Task WriteAsync_TokenThatCannotBeCancelled_Writes()
    {
        var writer = new FakeStreamWriter<string>();

        await ((IAsyncStreamWriter<string>)writer).WriteAsync("message", CancellationToken.None);

        Assert.That(writer.Written, Is.EqualTo(["message"]));
    }

    [Test]
    public void WriteAsync_TokenThatCanBeCancelled_ThrowsNotSupportedAtOnce()
    {
        using var source = new CancellationTokenSource();
        var writer = new FakeStreamWriter<string>();

        // Not through the task: a caller that does not await must see it as well.
        Assert.That(
            () => { _ = ((IAsyncStreamWriter<string>)writer).WriteAsync("message", source.Token); },
            Throws.TypeOf<NotSupportedException>().With.Message.EqualTo(
                "Cancellation of stream writes is not supported by this gRPC implementation."));
        Assert.That(writer.Written, Is.Empty);
    }

    [Test]
    public async Task MoveNext_WithoutToken_PassesOneThatCannotBeCancelled()
    {
        var reader = new FakeStreamReader<string>("message");

        Assert.That(await reader.MoveNext());
        Assert.That(reader.Current, Is.EqualTo("message"));
        Assert.That(reader.LastToken, Is.EqualTo(CancellationToken.None));
        Assert.That(await reader.MoveNext(), Is.False);
    }

    [Test]
    public void MoveNext_NullReader_ThrowsArgumentNullAtOnce()
    {
        Assert.That(
            () => { _ = AsyncStreamReaderExtensions.MoveNext<string>(null!); }, Errors.NullArgument("streamReader"));
    }

    [Test]
    public void Streams_OfRelatedTypes_Convert()
    {
        // Readers give, so theirs is covariant; writers take, so theirs is contravariant.
        Assert.That(new FakeStreamReader<string>(), Is.InstanceOf<IAsyncStreamReader<object>>());
        Assert.That(new FakeStreamWriter<object>(), Is.InstanceOf<IAsyncStreamWriter<string>>());
        Assert.That(new FakeStreamWriter<object>(), Is.InstanceOf<IClientStreamWriter<string>>());
        Assert.That(new FakeStreamWriter<object>(), Is.InstanceOf<IServerStreamWriter<string>>());
    }
}
