using Google.Rpc;
using Grpc.Core;

namespace RpcOverShm.Tests.Protobuf;

/// <summary>Messages in metadata.</summary>
public class TypedMetadataTests
{
    [Test]
    public void Message_OfTheLastEntry_IsRead_InAnyCase()
    {
        Metadata metadata = [];
        metadata.AddMessage("Info-Bin", new ErrorInfo { Reason = "first" });
        metadata.AddMessage("info-bin", new ErrorInfo { Reason = "last" });

        Assert.That(metadata.TryGetMessage("INFO-BIN", out ErrorInfo? info));
        Assert.That(info!.Reason, Is.EqualTo("last"));
    }

    [Test]
    public void Message_ThatIsEmpty_IsAMessage()
    {
        Metadata metadata = [];
        metadata.AddMessage("info-bin", new ErrorInfo());

        Assert.That(metadata.TryGetMessage("info-bin", out ErrorInfo? info));
        Assert.That(info, Is.EqualTo(new ErrorInfo()));
    }

    [Test]
    public void Message_ThatIsMissing_IsNone()
    {
        Assert.That(new Metadata().TryGetMessage("info-bin", out ErrorInfo? info), Is.False);
        Assert.That(info, Is.Null);
    }

    [Test]
    public void Bytes_ThatAreNoSuchMessage_AreAnErrorThatNamesKeyAndType()
    {
        var metadata = new Metadata { { "info-bin", new byte[] { 0x0A, 0xFF } } };

        Assert.That(
            () => metadata.TryGetMessage("info-bin", out ErrorInfo? _),
            Throws.TypeOf<FormatException>().With.Message.Contains("'info-bin'")
                .And.Message.Contains("google.rpc.ErrorInfo")
                .And.InnerException.Not.Null);
    }

    [Test]
    public void Arguments_ThatAreNone_AreRefused()
    {
        Metadata metadata = [];

        Assert.That(
            () => metadata.AddMessage("info", new ErrorInfo()), Throws.ArgumentException.With.Message.Contains("-bin"));
        Assert.That(
            () => metadata.TryGetMessage("info", out ErrorInfo? _),
            Throws.ArgumentException.With.Message.Contains("-bin"));
        Assert.That(() => metadata.AddMessage("info-bin", null!), Throws.ArgumentNullException);
        Assert.That(() => metadata.AddMessage(null!, new ErrorInfo()), Throws.ArgumentNullException);
        Assert.That(() => ((Metadata)null!).AddMessage("info-bin", new ErrorInfo()), Throws.ArgumentNullException);
        Assert.That(() => metadata.AddMessage("no space-bin", new ErrorInfo()), Throws.ArgumentException);
    }
}
