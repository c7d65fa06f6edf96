using System.IO.Compression;
using Grpc.Core;

namespace RpcOverShm.Tests.Options;

/// <summary>Addresses and options that are refused when a server or a channel is created, by what they hold.</summary>
public class RefusedOptionTests
{
    [TestCase("")]
    [TestCase("x")]
    [TestCase("http://localhost")]
    [TestCase("net.pipe://localhost")]
    [TestCase("shm://")]
    [TestCase("shm:///")]
    [TestCase("shm://a//b")]
    [TestCase("shm://a/")]
    [TestCase("shm://.")]
    [TestCase("shm://a/../b")]
    [TestCase("shm://with space")]
    [TestCase("shm://tilde~")]
    [TestCase("shm://plus+")]
    [TestCase("shm://ümlaut")]
    [TestCase("shm:///dir/")]
    public void Address_Malformed_IsRefusedWithWhatIsAllowed(string address)
    {
        Assert.That(
            () => ShmChannel.ForAddress(address), Throws.ArgumentException.With.Message.Contains("shm://name"));
        Assert.That(() => new ShmServer(address), Throws.ArgumentException.With.Message.Contains("shm://name"));
        Assert.That(() => new ShmStreamListener(address), Throws.ArgumentException.With.Message.Contains("shm://name"));
        Assert.That(
            () => ShmStream.ConnectAsync(address), Throws.ArgumentException.With.Message.Contains("shm://name"));
    }

    [Test]
    public void Address_TooLong_IsRefused()
    {
        Assert.That(() => ShmChannel.ForAddress("shm://" + new string('n', 201)), Throws.ArgumentException);
        Assert.That(() => ShmChannel.ForAddress("shm:///" + new string('p', 300)), Throws.ArgumentException);
        Assert.That(() => ShmChannel.ForAddress(null!), Throws.ArgumentNullException);
    }

    [TestCase("")]
    [TestCase("proto")]
    [TestCase("with space")]
    [TestCase("ümlaut")]
    public void Codec_WithANameThatIsNone_IsRefused(string name)
    {
        var codec = new NamedCodec(name);
        var server = new ShmServerOptions();
        server.Codecs.Add(codec);

        Assert.That(
            () => ShmChannel.ForAddress("shm://x", new ShmChannelOptions { Codec = codec }), Throws.ArgumentException);
        Assert.That(() => new ShmServer("shm://x", server), Throws.ArgumentException);
    }

    [Test]
    public void Codecs_OfOneName_AreRefused()
    {
        var options = new ShmServerOptions();
        options.Codecs.Add(new NamedCodec("same"));
        options.Codecs.Add(new NamedCodec("same"));

        Assert.That(() => new ShmServer("shm://x", options), Throws.ArgumentException.With.Message.Contains("same"));
    }

    [Test]
    public void Compression_ThatIsNoEncoding_IsRefused() => Assert.That(
        () => new ShmServer("shm://x", new ShmServerOptions { ResponseCompressionAlgorithm = "br" }),
        Throws.ArgumentException.With.Message.Contains("ResponseCompressionAlgorithm").And.Message.Contains("gzip"));

    [Test]
    public void CompressionLevel_ThatIsNone_IsRefused() => Assert.That(
        () => new ShmServer("shm://x", new ShmServerOptions { ResponseCompressionLevel = (CompressionLevel)99 }),
        Throws.TypeOf<ArgumentOutOfRangeException>().With.Message.Contains("ResponseCompressionLevel"));

    [Test]
    public void Interceptor_ThatIsNull_IsRefused()
    {
        var options = new ShmServerOptions();
        options.Interceptors.Add(null!);

        Assert.That(() => new ShmServer("shm://x", options), Throws.ArgumentException);
        Assert.That(
            () => new ShmServer("shm://x").Services.Add(new Script().Build(), [null!]),
            Throws.TypeOf<ArgumentNullException>());
    }

    [Test]
    public void Inspector_ThatIsNull_IsRefused()
    {
        var server = new ShmServerOptions { MessageInspectors = { null! } };
        var channel = new ShmChannelOptions { MessageInspectors = { null! } };

        Assert.That(
            () => new ShmServer("shm://x", server),
            Throws.ArgumentException.With.Message.Contains("MessageInspectors"));
        Assert.That(
            () => ShmChannel.ForAddress("shm://x", channel),
            Throws.ArgumentException.With.Message.Contains("MessageInspectors"));
    }

    [Test]
    public void IdleTimeout_OfAChannelThatOffersCallbacks_IsRefused()
    {
        var options = new ShmChannelOptions { IdleTimeout = TimeSpan.FromHours(1) };
        options.Callbacks.Services.Add(new Script().Build());

        Assert.That(
            () => ShmChannel.ForAddress("shm://x", options),
            Throws.ArgumentException.With.Message.Contains("IdleTimeout is null if there are Callbacks.Services"));
    }

    private sealed class NamedCodec(string name) : ShmCodec
    {
        public override string Name => name;

        public override Marshaller<T> CreateMarshaller<T>(Marshaller<T> generated) => generated;
    }
}
