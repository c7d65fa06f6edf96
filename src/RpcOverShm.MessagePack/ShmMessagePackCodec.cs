using Google.Protobuf;
using Grpc.Core;
using MessagePack;
using RpcOverShm.MessagePack.Objects;

namespace RpcOverShm.MessagePack;

/// <summary>
/// MessagePack in place of Protobuf for all messages of a channel or server: the same <c>.proto</c>, the same generated
/// classes, other bytes. The package's README says which. It also takes classes with
/// <see cref="MessagePackObjectAttribute"/>, for methods that were not generated. Bytes that can't be read end their
/// call as those of a generated marshaller would: the exception inside is always a
/// <see cref="MessagePackSerializationException"/>, and says which field of a generated message was wrong. Thread-safe;
/// nothing to dispose.
/// </summary>
/// <remarks>
/// Code for generated messages is compiled when their type is first used. Where code can't be compiled, as with native
/// AOT, their descriptors do instead: slower, the same bytes. Classes with attributes then need a resolver that was
/// generated with them.
/// </remarks>
public sealed class ShmMessagePackCodec : ShmCodec
{
    /// <summary>As deep as Google.Protobuf reads messages inside each other.</summary>
    private const int MaxDepth = 100;

    private readonly MessagePackSerializerOptions _options;

    /// <summary>A codec that finds formatters for classes with attributes by options of one's own.</summary>
    /// <param name="options">
    /// Their resolver is used; not null. Whatever their security is, input is taken as from a stranger:
    /// <see cref="MessagePackSecurity.UntrustedData"/>, at most 100 objects inside each other. Its formatters copy what
    /// they keep of the input. Without effect on generated messages.
    /// </param>
    /// <exception cref="ArgumentNullException">The options are null.</exception>
    /// <exception cref="ArgumentException">
    /// The options compress, which costs more than it saves within a machine, or their resolver takes classes without
    /// attributes or writes the names of types, which lets input choose what is made of it.
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

    /// <summary>The codec with <see cref="MessagePackSerializerOptions.Standard"/>.</summary>
    public static ShmMessagePackCodec Instance { get; } = new(MessagePackSerializerOptions.Standard);

    /// <summary>"msgpack".</summary>
    public override string Name => "msgpack";

    /// <summary>Makes the marshaller for a message type.</summary>
    /// <typeparam name="T">A generated message, or a type that the options' resolver knows.</typeparam>
    /// <param name="generated">Not used.</param>
    /// <returns>
    /// A marshaller that allocates nothing but the messages it reads; null for a type that is neither. It refuses to
    /// write null, and a value of which something would be lost, by a <see cref="MessagePackSerializationException"/>.
    /// </returns>
    /// <exception cref="NotSupportedException">
    /// The type is a generated message that holds groups or can be extended, or some message within it does; or a
    /// message that was written by hand. Or it is, or can hold, another type that can't be carried safely or whole: the
    /// message names the member, and the package's README has the list.
    /// </exception>
    public override Marshaller<T>? CreateMarshaller<T>(Marshaller<T> generated) =>
        typeof(IMessage).IsAssignableFrom(typeof(T)) && !typeof(T).IsAbstract
            ? MessageMarshaller<T>.Create()
            : ObjectMarshaller<T>.TryCreate(_options);
}
