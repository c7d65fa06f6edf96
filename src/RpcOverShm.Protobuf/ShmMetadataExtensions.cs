using System.Diagnostics.CodeAnalysis;
using Google.Protobuf;

namespace Grpc.Core;

/// <summary>
/// Typed metadata: Protobuf messages in binary entries, for headers and trailers of any gRPC transport.
/// </summary>
/// <remarks>As thread-safe as <see cref="Metadata"/>, which is not.</remarks>
public static class ShmMetadataExtensions
{
    /// <summary>Adds an entry with a message.</summary>
    /// <param name="metadata">The headers or trailers.</param>
    /// <param name="key">The key, which ends with <c>-bin</c>; it is converted to lower case.</param>
    /// <param name="message">The message, which is serialised at once.</param>
    /// <exception cref="ArgumentNullException">An argument is null.</exception>
    /// <exception cref="ArgumentException">The key has other characters, or does not end with <c>-bin</c>.</exception>
    /// <exception cref="InvalidOperationException">The metadata is read-only, as that of a sent call is.</exception>
    /// <remarks>All metadata of a call together has a limit, 64 KiB unless it is set otherwise.</remarks>
    public static void AddMessage(this Metadata metadata, string key, IMessage message)
    {
        ArgumentNullException.ThrowIfNull(metadata);
        ArgumentNullException.ThrowIfNull(message);
        ThrowIfNotBinary(key);
        metadata.Add(key, message.ToByteArray());
    }

    /// <summary>Reads the message of the last entry with a key.</summary>
    /// <typeparam name="T">The type of the message.</typeparam>
    /// <param name="metadata">The headers or trailers.</param>
    /// <param name="key">The key, which ends with <c>-bin</c>, in upper or lower case.</param>
    /// <param name="message">The message; null if there is no such entry.</param>
    /// <returns>Whether there is such an entry.</returns>
    /// <exception cref="ArgumentNullException">The metadata or the key is null.</exception>
    /// <exception cref="ArgumentException">The key does not end with <c>-bin</c>.</exception>
    /// <exception cref="FormatException">The bytes of the entry are no such message.</exception>
    /// <remarks>
    /// The peer chooses the bytes. A method that reads a header should turn the <see cref="FormatException"/> into
    /// <see cref="StatusCode.InvalidArgument"/>.
    /// </remarks>
    public static bool TryGetMessage<T>(this Metadata metadata, string key, [NotNullWhen(true)] out T? message)
        where T : class, IMessage<T>, new()
    {
        ArgumentNullException.ThrowIfNull(metadata);
        ThrowIfNotBinary(key);
        message = null;
        if (metadata.GetValueBytes(key.ToLowerInvariant()) is not { } bytes)
        {
            return false;
        }

        var read = new T();
        try
        {
            read.MergeFrom(bytes);
        }
        catch (InvalidProtocolBufferException exception)
        {
            throw new FormatException(
                $"The metadata entry '{key}' is no message of type {read.Descriptor.FullName}: {exception.Message}",
                exception);
        }

        message = read;
        return true;
    }

    private static void ThrowIfNotBinary(string key)
    {
        ArgumentNullException.ThrowIfNull(key);
        if (!key.EndsWith(Metadata.BinaryHeaderSuffix, StringComparison.OrdinalIgnoreCase))
        {
            throw new ArgumentException(
                $"The key '{key}' is that of a text: the key of a message ends with {Metadata.BinaryHeaderSuffix}.",
                nameof(key));
        }
    }
}
