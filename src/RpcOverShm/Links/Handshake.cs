using System.Net.Sockets;
using Microsoft.Win32.SafeHandles;
using RpcOverShm.Protocol;
using RpcOverShm.Segments;

namespace RpcOverShm.Links;

/// <summary>
/// Sends and receives the messages of the handshake with their descriptors, and checks what belongs to both sides. One
/// thread at a time per socket. Waits without a thread; every wait ends with the caller's token.
/// </summary>
internal static class Handshake
{
    /// <summary>Sends a hello with the descriptor of this side's segment.</summary>
    public static void Send(Socket socket, Hello hello, SharedSegment? segment) =>
        DescriptorPassing.Send(socket, hello.Encode(), segment?.Descriptor);

    /// <summary>Tells the peer why it is refused, if it still listens.</summary>
    public static void TrySendRefusal(Socket socket, ConnectionPurpose purpose, RefusalReason reason, string text)
    {
        try
        {
            var refusal = new Hello
            {
                Type = HelloType.Refusal,
                Purpose = purpose,
                RefusalReason = reason,
                RefusalText = text,
            };
            DescriptorPassing.Send(socket, refusal.Encode(), descriptor: null);
        }
        catch (Exception exception) when (exception is IOException or ObjectDisposedException)
        {
            // The peer has gone or does not read: it will see the end of the socket, which says enough.
        }
    }

    /// <summary>
    /// Receives one message. Null when the peer closes before the first byte. A hello comes with one descriptor, which
    /// the caller disposes, and a refusal with none; whatever else came is closed here. Of a hello of versions that
    /// this build does not speak the common part is received, whatever came with it.
    /// </summary>
    /// <exception cref="ProtocolException">The message is none of the handshake's.</exception>
    public static async Task<ReceivedHello?> ReceiveAsync(Socket socket, CancellationToken cancellationToken)
    {
        var descriptors = new List<SafeFileHandle>();
        try
        {
            byte[]? message = await ReceiveMessageAsync(socket, descriptors, cancellationToken).ConfigureAwait(false);
            if (message is null)
            {
                return null;
            }

            Hello hello = Hello.Decode(message);
            if (Hello.IsForeign(message))
            {
                return new ReceivedHello(hello, Descriptor: null);
            }

            int expected = hello.Type == HelloType.Refusal ? 0 : 1;
            if (descriptors.Count != expected)
            {
                throw new ProtocolException(
                    $"{descriptors.Count} descriptors came with a handshake message; {expected} is right.");
            }

            SafeFileHandle? descriptor = expected == 1 ? descriptors[0] : null;
            descriptors.Clear();
            return new ReceivedHello(hello, descriptor);
        }
        finally
        {
            descriptors.ForEach(descriptor => descriptor.Dispose());
        }
    }

    /// <summary>Null when the announcement of the peer can be lived with, else what is wrong with it.</summary>
    public static string? Check(Hello hello) =>
        SegmentLayout.IsValidRingCapacity(hello.Limits.RingCapacity)
            ? hello.Limits.Check()
            : $"a ring of {hello.Limits.RingCapacity} bytes; "
                + $"a power of two from {SegmentLayout.MinRingCapacityBytes} to {SegmentLayout.MaxRingCapacityBytes} "
                + "is allowed";

    private static async Task<byte[]?> ReceiveMessageAsync(
        Socket socket, List<SafeFileHandle> descriptors, CancellationToken cancellationToken)
    {
        byte[] buffer = new byte[Hello.MaxSizeBytes];
        int received = 0;
        int needed = Hello.CommonSizeBytes;
        while (received < needed)
        {
            // Never more than this message: what follows it is not the handshake's to read.
            int count = DescriptorPassing.Receive(socket, buffer.AsSpan(received, needed - received), descriptors);
            if (count < 0)
            {
                // The zero-byte receive completes when something can be read, and takes nothing.
                await socket.ReceiveAsync(Memory<byte>.Empty, cancellationToken).ConfigureAwait(false);
                continue;
            }

            if (count == 0)
            {
                return received == 0
                    ? null
                    : throw new ProtocolException(
                        $"The other side closed after {received} bytes of a handshake message.");
            }

            received += count;
            needed = Hello.PeekLength(buffer.AsSpan(0, received)) ?? Hello.CommonSizeBytes;
            bool isCommonRead = received >= Hello.CommonSizeBytes;
            if (isCommonRead && Hello.IsForeign(buffer))
            {
                return buffer[..received];
            }

            // In one message at most one came; in many pieces it could be thousands. A later version may have more.
            if (descriptors.Count > (isCommonRead ? 1 : DescriptorPassing.MaxDescriptors))
            {
                throw new ProtocolException(
                    $"{descriptors.Count} descriptors came with a handshake message; 1 is right.");
            }
        }

        return buffer[..needed];
    }

    /// <summary>A message of the peer and the descriptor that came with it, which the receiver disposes.</summary>
    internal sealed record ReceivedHello(Hello Hello, SafeFileHandle? Descriptor) : IDisposable
    {
        public void Dispose() => Descriptor?.Dispose();
    }
}
