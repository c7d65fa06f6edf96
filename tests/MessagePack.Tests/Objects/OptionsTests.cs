using MessagePack.Resolvers;
using MessagePack.Tests.Surface;

namespace MessagePack.Tests.Objects;

/// <summary>Options are copied, never changed.</summary>
public class OptionsTests
{
    [Test]
    public void Standard_LeftAsItIs_HasItsDefaults()
    {
        MessagePackSerializerOptions options = MessagePackSerializerOptions.Standard;

        Assert.That(options.Resolver, Is.SameAs(StandardResolver.Instance));
        Assert.That(options.Compression, Is.EqualTo(MessagePackCompression.None));
        Assert.That(options.CompressionMinLength, Is.EqualTo(64));
        Assert.That(options.SuggestedContiguousMemorySize, Is.EqualTo(1024 * 1024));
        Assert.That(options.OldSpec, Is.Null);
        Assert.That(options.OmitAssemblyVersion, Is.False);
        Assert.That(options.AllowAssemblyVersionMismatch, Is.False);
        Assert.That(options.Security, Is.SameAs(MessagePackSecurity.TrustedData));
    }

    [Test]
    public void With_AnythingElse_IsACopy()
    {
        MessagePackSerializerOptions standard = MessagePackSerializerOptions.Standard;
        var pool = new SequencePool(1);
        MessagePackSerializerOptions changed = standard
            .WithResolver(BuiltinResolver.Instance)
            .WithCompressionMinLength(5)
            .WithSuggestedContiguousMemorySize(512)
            .WithOldSpec()
            .WithOmitAssemblyVersion(true)
            .WithAllowAssemblyVersionMismatch(true)
            .WithSecurity(MessagePackSecurity.UntrustedData)
            .WithPool(pool);

        Assert.That(changed, Is.Not.SameAs(standard));
        Assert.That(standard.Resolver, Is.SameAs(StandardResolver.Instance));
        Assert.That(changed.Resolver, Is.SameAs(BuiltinResolver.Instance));
        Assert.That(changed.CompressionMinLength, Is.EqualTo(5));
        Assert.That(changed.SuggestedContiguousMemorySize, Is.EqualTo(512));
        Assert.That(changed.OldSpec, Is.True);
        Assert.That(changed.OmitAssemblyVersion, Is.True);
        Assert.That(changed.AllowAssemblyVersionMismatch, Is.True);
        Assert.That(changed.Security, Is.SameAs(MessagePackSecurity.UntrustedData));
        Assert.That(changed.SequencePool, Is.SameAs(pool));
    }

    [Test]
    public void With_TheSame_IsTheSame()
    {
        MessagePackSerializerOptions standard = MessagePackSerializerOptions.Standard;

        Assert.That(standard.WithResolver(standard.Resolver), Is.SameAs(standard));
        Assert.That(standard.WithCompression(MessagePackCompression.None), Is.SameAs(standard));
        Assert.That(standard.WithSecurity(standard.Security), Is.SameAs(standard));
    }

    [Test]
    public void Options_ThatCannotBeCopied_SayWhichTheyAre()
    {
        Assert.That(
            () => new NarrowOptions().WithOldSpec(),
            Throws.InstanceOf<NotSupportedException>().With.Message.Contains(nameof(NarrowOptions)));
    }

    [TestCase(MessagePackCompression.Lz4Block)]
    [TestCase(MessagePackCompression.Lz4BlockArray)]
    public void Compression_ThatTheStandInDoesNotHave_IsRefusedAtOnce(MessagePackCompression compression)
    {
        Assume.That(SurfaceAssemblies.AreThePackages, Is.False, "The package has it.");

        Assert.That(
            () => MessagePackSerializerOptions.Standard.WithCompression(compression),
            Throws.InstanceOf<NotSupportedException>().With.Message.Contains("no compression"));
    }

    [Test]
    public void OldSpec_OfTheOptions_IsTheWritersForThatValue()
    {
        MessagePackSerializerOptions old = MessagePackSerializerOptions.Standard.WithOldSpec();

        Assert.That(MessagePackSerializer.Serialize(new byte[] { 1 }, old), Is.EqualTo(new byte[] { 0xa1, 1 }));
        Assert.That(
            MessagePackSerializer.Deserialize<byte[]>(new byte[] { 0xa1, 1 }, old), Is.EqualTo(new byte[] { 1 }));
    }

    [Test]
    public void Security_LeftAsItIs_HasItsDefaults()
    {
        MessagePackSecurity trusted = MessagePackSecurity.TrustedData;
        MessagePackSecurity untrusted = MessagePackSecurity.UntrustedData;

        Assert.That((trusted.HashCollisionResistant, trusted.MaximumObjectGraphDepth), Is.EqualTo((false, 500)));
        Assert.That((untrusted.HashCollisionResistant, untrusted.MaximumObjectGraphDepth), Is.EqualTo((true, 500)));
        Assert.That(trusted.MaximumDecompressedSize, Is.EqualTo(int.MaxValue));
        Assert.That(untrusted.MaximumDecompressedSize, Is.EqualTo(64 * 1024 * 1024));
    }

    [Test]
    public void Security_Changed_IsACopy()
    {
        MessagePackSecurity changed = MessagePackSecurity.TrustedData
            .WithMaximumObjectGraphDepth(3).WithHashCollisionResistant(true).WithMaximumDecompressedSize(9);

        Assert.That(changed.MaximumObjectGraphDepth, Is.EqualTo(3));
        Assert.That(changed.HashCollisionResistant, Is.True);
        Assert.That(changed.MaximumDecompressedSize, Is.EqualTo(9));
        Assert.That(MessagePackSecurity.TrustedData.MaximumObjectGraphDepth, Is.EqualTo(500));
    }

    [Test]
    public void DefaultOptions_OfTheSerializer_AreTheStandardOnes()
    {
        Assert.That(MessagePackSerializer.DefaultOptions, Is.SameAs(MessagePackSerializerOptions.Standard));
    }
}
