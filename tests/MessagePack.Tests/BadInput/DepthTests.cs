using MessagePack.Tests.Fakes;
using MessagePack.Tests.Objects;

namespace MessagePack.Tests.BadInput;

/// <summary>Values within values end where the options say, not where the stack does.</summary>
public class DepthTests
{
    private const int Deep = 200_000;

    private static readonly MessagePackSerializerOptions s_three = MessagePackSerializerOptions.Standard.WithSecurity(
        MessagePackSecurity.UntrustedData.WithMaximumObjectGraphDepth(3));

    [Test]
    public void Step_AtTheLimit_IsRefused()
    {
        var reader = new MessagePackReader(new byte[] { 1 }) { Depth = 2 };
        MessagePackSecurity security = s_three.Security;

        security.DepthStep(ref reader);
        Assert.That(reader.Depth, Is.EqualTo(3));

        InsufficientExecutionStackException? refused = null;
        try
        {
            security.DepthStep(ref reader);
        }
        catch (InsufficientExecutionStackException e)
        {
            refused = e;
        }

        Assert.That(refused, Is.Not.Null);
    }

    [TestCase("91", "c0")]
    [TestCase("8101", "c0")]
    public void Nesting_AsDeepAsAllowed_IsReadAndNoDeeper(string level, string end)
    {
        Assert.That(() => Read(level + level + level + end), Throws.Nothing);
        Assert.That(
            () => Read(level + level + level + level + end),
            Throws.InstanceOf<MessagePackSerializationException>()
                .With.InnerException.InstanceOf<InsufficientExecutionStackException>());

        static object Read(string hex) => MessagePackSerializer.Deserialize<object>(Message.Bytes(hex), s_three);
    }

    [Test]
    public void Objects_AsDeepAsAllowed_AreReadAndNoDeeper()
    {
        Assert.That(
            MessagePackSerializer.Deserialize<Order>(Nested(3), s_three).Next!.Next!.Next, Is.Null);
        Assert.That(
            () => MessagePackSerializer.Deserialize<Order>(Nested(4), s_three),
            Throws.InstanceOf<MessagePackSerializationException>()
                .With.InnerException.InstanceOf<InsufficientExecutionStackException>());

        static byte[] Nested(int depth) => MessagePackSerializer.Serialize(
            Enumerable.Range(0, depth).Aggregate((Order?)null, (inner, _) => new Order { Next = inner }));
    }

    [TestCase("91")]
    [TestCase("8101")]
    [TestCase("dc0001")]
    public void Bomb_ReadAsObject_IsRefused(string level)
    {
        Assert.That(
            () => MessagePackSerializer.Deserialize<object>(Bomb(level)),
            Throws.InstanceOf<MessagePackSerializationException>()
                .With.InnerException.InstanceOf<InsufficientExecutionStackException>());
        Assert.That(() => MessagePackSerializer.ConvertToJson(Bomb(level)), Throws.Exception);
    }

    [TestCase("91")]
    [TestCase("8101")]
    [TestCase("93c001")]
    public void Bomb_Skipped_IsLeftBehind(string level)
    {
        string tail = level == "93c001" ? "" : "c0";
        var reader = new MessagePackReader(Bomb(level).Concat(Message.Bytes(tail)).ToArray());
        Exception? thrown = null;
        try
        {
            reader.Skip();
        }
        catch (EndOfStreamException e)
        {
            thrown = e;
        }

        Assert.That(thrown is null, Is.EqualTo(level != "93c001"));
    }

    [Test]
    public void Bomb_InAMemberThatIsUnknown_IsSkipped()
    {
        byte[] message = [0x81, 0xa1, (byte)'x', .. Bomb("91"), 0xc0];

        Assert.That(MessagePackSerializer.Deserialize<Person>(message).Name, Is.EqualTo("nobody"));
    }

    private static byte[] Bomb(string level)
    {
        byte[] bytes = Message.Bytes(level);
        return [.. Enumerable.Repeat(bytes, Deep / bytes.Length).SelectMany(each => each)];
    }
}
