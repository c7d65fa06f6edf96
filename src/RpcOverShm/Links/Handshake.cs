using System.Net.Sockets;
using Microsoft.Win32.SafeHandles;
using RpcOverShm.Protocol;
using RpcOverShm.Segments;

namespace RpcOverShm.Links;

/// <summary>
/// The part of the handshake that client and server share: sends and receives its messages with their descriptors, and
/// checks them. One thread at a time may use a socket. Waits occupy no thread; the caller's token cancels them.
/// </summary>
internal static class Handshake
{
    /// <summary>Sends a hello with the descriptor of this side's segment.</summary>
    public static void Send(Socket socket, Hello hello, SharedSegment? segment) =>
        DescriptorPassing.Send(socket, hello.Encode(), segment?.Descriptor);

    /// <summary>Sends a refusal with its reason, unless the peer is gone or does not read.</summary>
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
            // The peer is gone or does not read. The end of the socket is enough for it.
        }
    }

    /// <summary>
    /// Receives one message; null if the peer closes before the first byte. A hello carries one descriptor, which the
    /// caller must dispose; a refusal carries none. All other descriptors are closed here. If a hello has only versions
    /// that this build does not speak, the result has only the fields that all versions share, and no descriptor.
    /// </summary>
    /// <exception cref="ProtocolException">The message is malformed, or has a wrong number of descriptors.</exception>
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

    /// <summary>Checks the limits in the peer's hello. Returns null if they are valid, else the problem.</summary>
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
            // Never reads past the end of this message: the bytes behind it belong to the next receive.
            int count = DescriptorPassing.Receive(socket, buffer.AsSpan(received, needed - received), descriptors);
            if (count < 0)
            {
                // The zero-byte receive completes when the socket is readable, and consumes nothing.
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

            // A peer that sends a message in many pieces could attach descriptors to each, thousands in all. Before the
            // common part is complete the limit is higher, because a later version may send more than one.
            if (descriptors.Count > (isCommonRead ? 1 : DescriptorPassing.MaxDescriptors))
            {
                throw new ProtocolException(
                    $"{descriptors.Count} descriptors came with a handshake message; 1 is right.");
            }
        }

        return buffer[..needed];
    }

    /// <summary>A message of the peer with its descriptor, which the caller must dispose.</summary>
    internal sealed record ReceivedHello(Hello Hello, SafeFileHandle? Descriptor) : IDisposable
    {
        public void Dispose() => Descriptor?.Dispose();
    }
}
