namespace Grpc.Core.Api.Tests.Behaviour;

/// <summary>The small option classes and their defaults.</summary>
public class OptionsTests
{
    [Test]
    public void WriteOptions_Default_HasNoFlags()
    {
        Assert.That(WriteOptions.Default.Flags, Is.EqualTo(default(WriteFlags)));
        Assert.That(new WriteOptions().Flags, Is.EqualTo(default(WriteFlags)));
    }

    [Test]
    public void WriteOptions_Flags_AreKept()
    {
        const WriteFlags Both = WriteFlags.BufferHint | WriteFlags.NoCompress;

        Assert.That(new WriteOptions(Both).Flags, Is.EqualTo(Both));
    }

    [Test]
    public void ContextPropagationOptions_Default_PropagateBoth()
    {
        Assert.That(ContextPropagationOptions.Default.IsPropagateDeadline);
        Assert.That(ContextPropagationOptions.Default.IsPropagateCancellation);
    }

    [TestCase(true, false)]
    [TestCase(false, true)]
    public void ContextPropagationOptions_Choices_AreKept(bool deadline, bool cancellation)
    {
        var options = new ContextPropagationOptions(deadline, cancellation);

        Assert.That(options.IsPropagateDeadline, Is.EqualTo(deadline));
        Assert.That(options.IsPropagateCancellation, Is.EqualTo(cancellation));
    }
}
