using Google.Protobuf;
using Grpc.Core;
using MessagePack;
using RpcOverShm.MessagePack.Objects;

namespace RpcOverShm.MessagePack;

/// <summary>A codec that carries the messages of a channel or server as MessagePack instead of Protobuf.</summary>
/// <remarks>
/// <para>
/// The <c>.proto</c> and the generated classes stay the same; only the bytes differ, as the package's README describes.
/// The codec also supports classes with <see cref="MessagePackObjectAttribute"/>, for methods that were not generated.
/// </para>
/// <para>
/// If received bytes cannot be read, the call fails as with a generated marshaller. On a client, the inner exception is
/// a <see cref="MessagePackSerializationException"/>, which names the unreadable field of a generated message.
/// </para>
/// <para>
/// The code for a generated message type is compiled when the type is first used. If code cannot be compiled (native
/// AOT), the codec uses the message descriptors: slower, with the same bytes. Classes with attributes need generated
/// formatters there and in trimmed programs: the project that declares them references the package MessagePack, and the
/// codec gets <c>GeneratedMessagePackResolver.Instance</c>, as the package's README shows.
/// </para>
/// <para>Thread-safe. Nothing to dispose.</para>
/// </remarks>
public sealed class ShmMessagePackCodec : ShmCodec
{
    /// <summary>The nesting limit of Google.Protobuf.</summary>
    private const int MaxDepth = 100;

    private readonly MessagePackSerializerOptions _options;

    /// <summary>Creates a codec with a custom resolver for classes with attributes.</summary>
    /// <param name="options">
    /// The options, of which the codec uses the resolver. The codec does not trust input, whatever the options say: it
    /// uses <see cref="MessagePackSecurity.UntrustedData"/> and allows at most 100 nested objects. The formatters must
    /// copy what they keep of the input. Without effect on generated messages.
    /// </param>
    /// <exception cref="ArgumentNullException">The options are null.</exception>
    /// <exception cref="ArgumentException">
    /// The options compress, which costs more than it saves within one machine; or the resolver accepts classes without
    /// attributes or writes type names, so that input can choose which objects are created.
    /// </exception>
    public ShmMessagePackCodec(MessagePackSerializerOptions options)
    {
        ArgumentNullException.ThrowIfNull(options);
        if (options.Compression != MessagePackCompression.None)
        {
            throw new ArgumentException(
                $"The options compress with {options.Compression}; only {MessagePackCompression.None} is allowed.",
                nameof(options));
        }

        if (ResolverRules.WhatIsWrong(options.Resolver) is { } wrong)
        {
            throw new ArgumentException(wrong, nameof(options));
        }

        _options = options
            .WithSecurity(MessagePackSecurity.UntrustedData.WithMaximumObjectGraphDepth(MaxDepth))
            .WithResolver(new CheckedResolver(options.Resolver));
    }

    /// <summary>Gets the codec with <see cref="MessagePackSerializerOptions.Standard"/>.</summary>
    public static ShmMessagePackCodec Instance { get; } = new(MessagePackSerializerOptions.Standard);

    /// <summary>Gets the name of the codec: "msgpack".</summary>
    public override string Name => "msgpack";

    /// <summary>Creates the marshaller of a message type.</summary>
    /// <typeparam name="T">A generated message type, or a type that the resolver of the options supports.</typeparam>
    /// <param name="generated">Not used.</param>
    /// <returns>
    /// The marshaller, which allocates only the messages that it reads; null if the type is of neither kind. The
    /// marshaller throws <see cref="MessagePackSerializationException"/> if the message is null, or if a part of it
    /// would be lost.
    /// </returns>
    /// <exception cref="NotSupportedException">
    /// The type is a generated message that contains groups or extension ranges, directly or in a nested message; a
    /// message class that was written by hand; or another type that cannot be carried safely or completely. The
    /// exception names the member; the package's README lists these types.
    /// </exception>
    public override Marshaller<T>? CreateMarshaller<T>(Marshaller<T> generated) =>
        typeof(IMessage).IsAssignableFrom(typeof(T)) && !typeof(T).IsAbstract
            ? MessageMarshaller<T>.Create()
            : ObjectMarshaller<T>.TryCreate(_options);
}
