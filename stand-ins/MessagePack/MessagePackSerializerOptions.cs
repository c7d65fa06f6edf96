using MessagePack.Resolvers;

namespace MessagePack;

/// <summary>How messages are written and read. Immutable: each With method answers a changed copy.</summary>
public class MessagePackSerializerOptions
{
    // Names of types that turn data into code when they are made from a message.
    private static readonly HashSet<string> s_disallowedTypes =
    [
        "System.CodeDom.Compiler.TempFileCollection",
        "System.Management.IWbemClassObjectFreeThreaded",
    ];

    public MessagePackSerializerOptions(IFormatterResolver resolver)
    {
        ArgumentNullException.ThrowIfNull(resolver);
        Resolver = resolver;
    }

    protected MessagePackSerializerOptions(MessagePackSerializerOptions copyFrom)
    {
        ArgumentNullException.ThrowIfNull(copyFrom);
        Resolver = copyFrom.Resolver;
        Compression = copyFrom.Compression;
        CompressionMinLength = copyFrom.CompressionMinLength;
        SuggestedContiguousMemorySize = copyFrom.SuggestedContiguousMemorySize;
        OldSpec = copyFrom.OldSpec;
        OmitAssemblyVersion = copyFrom.OmitAssemblyVersion;
        AllowAssemblyVersionMismatch = copyFrom.AllowAssemblyVersionMismatch;
        Security = copyFrom.Security;
        SequencePool = copyFrom.SequencePool;
    }

    public static MessagePackSerializerOptions Standard => StandardResolver.Options;

    public IFormatterResolver Resolver { get; private set; }

    public MessagePackCompression Compression { get; }

    public int CompressionMinLength { get; private set; } = 64;

    public int SuggestedContiguousMemorySize { get; private set; } = 1024 * 1024;

    public bool? OldSpec { get; private set; }

    public bool OmitAssemblyVersion { get; private set; }

    public bool AllowAssemblyVersionMismatch { get; private set; }

    public MessagePackSecurity Security { get; private set; } = MessagePackSecurity.TrustedData;

    public SequencePool SequencePool { get; private set; } = SequencePool.Shared;

    public virtual Type? LoadType(string typeName) => Type.GetType(typeName, throwOnError: false);

    public virtual void ThrowIfDeserializingTypeIsDisallowed(Type type)
    {
        ArgumentNullException.ThrowIfNull(type);
        ThrowIfDeserializingTypeIsDisallowedCore(type);
    }

    public MessagePackSerializerOptions WithResolver(IFormatterResolver resolver)
    {
        ArgumentNullException.ThrowIfNull(resolver);
        return With(Resolver == resolver, copy => copy.Resolver = resolver);
    }

    /// <exception cref="NotSupportedException">Any compression: the stand-in has none.</exception>
    public MessagePackSerializerOptions WithCompression(MessagePackCompression compression)
    {
        return compression == MessagePackCompression.None
            ? this
            : throw new NotSupportedException(
                $"{compression}: the stand-in for MessagePack has no compression. Build with UpstreamPackages=true.");
    }

    public MessagePackSerializerOptions WithCompressionMinLength(int compressionMinLength)
    {
        ArgumentOutOfRangeException.ThrowIfNegativeOrZero(compressionMinLength);
        return With(
            CompressionMinLength == compressionMinLength, copy => copy.CompressionMinLength = compressionMinLength);
    }

    public MessagePackSerializerOptions WithSuggestedContiguousMemorySize(int suggestedContiguousMemorySize)
    {
        ArgumentOutOfRangeException.ThrowIfLessThan(suggestedContiguousMemorySize, 256);
        return With(
            SuggestedContiguousMemorySize == suggestedContiguousMemorySize,
            copy => copy.SuggestedContiguousMemorySize = suggestedContiguousMemorySize);
    }

    public MessagePackSerializerOptions WithOldSpec(bool? oldSpec = true) =>
        With(OldSpec == oldSpec, copy => copy.OldSpec = oldSpec);

    public MessagePackSerializerOptions WithOmitAssemblyVersion(bool omitAssemblyVersion) =>
        With(OmitAssemblyVersion == omitAssemblyVersion, copy => copy.OmitAssemblyVersion = omitAssemblyVersion);

    public MessagePackSerializerOptions WithAllowAssemblyVersionMismatch(bool allowAssemblyVersionMismatch) =>
        With(
            AllowAssemblyVersionMismatch == allowAssemblyVersionMismatch,
            copy => copy.AllowAssemblyVersionMismatch = allowAssemblyVersionMismatch);

    public MessagePackSerializerOptions WithSecurity(MessagePackSecurity security)
    {
        ArgumentNullException.ThrowIfNull(security);
        return With(Security == security, copy => copy.Security = security);
    }

    public MessagePackSerializerOptions WithPool(SequencePool pool)
    {
        ArgumentNullException.ThrowIfNull(pool);
        return With(SequencePool == pool, copy => copy.SequencePool = pool);
    }

    protected virtual void ThrowIfDeserializingTypeIsDisallowedCore(Type type)
    {
        ArgumentNullException.ThrowIfNull(type);
        if (type.FullName is { } name && s_disallowedTypes.Contains(name))
        {
            throw new MessagePackSerializationException($"Deserialization attempted to create the type {name}"
                + " which is not allowed.");
        }
    }

    protected virtual MessagePackSerializerOptions Clone()
    {
        // A class that is derived and does not say how to copy itself would lose what it adds.
        return GetType() == typeof(MessagePackSerializerOptions)
            ? new MessagePackSerializerOptions(this)
            : throw new NotSupportedException($"The derived type {GetType().FullName} did not override Clone().");
    }

    private MessagePackSerializerOptions With(bool isSame, Action<MessagePackSerializerOptions> change)
    {
        if (isSame)
        {
            return this;
        }

        MessagePackSerializerOptions copy = Clone();
        change(copy);
        return copy;
    }
}
