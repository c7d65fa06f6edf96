using System.Net.Sockets;
using Microsoft.Win32.SafeHandles;
using RpcOverShm.Diagnostics;
using RpcOverShm.Protocol;
using RpcOverShm.Segments;

namespace RpcOverShm.Links;

/// <summary>
/// The part of the handshake that client and server share: sends and receives its messages with their descriptors, and
/// checks them. One thread at a time may use a socket. A wait occupies a thread for its first 2 ms at most; the
/// caller's token cancels the rest.
/// </summary>
internal static class Handshake
{
    private const string LargestPeerRing = "Ring.MaxPeerCapacity"; // the public option

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
        catch (Exception exception) when (exception is IOException or SegmentException or ObjectDisposedException)
        {
            // The peer is gone or does not read. The end of the socket is enough for it.
        }
    }

    /// <summary>
    /// Receives one message, as <see cref="HelloReceiver"/> describes; null if the peer closes before the first byte.
    /// </summary>
    /// <exception cref="ProtocolException">The message is malformed, or has a wrong number of descriptors.</exception>
    /// <exception cref="SegmentException">The descriptors that came with it could not be received.</exception>
    /// <param name="socket">The socket, which stays the caller's.</param>
    /// <param name="cancellationToken">Stops waiting.</param>
    /// <param name="mostDescriptors">The descriptors that may come before the version is known.</param>
    public static async Task<ReceivedHello?> ReceiveAsync(
        Socket socket,
        CancellationToken cancellationToken,
        int mostDescriptors = DescriptorPassing.MaxDescriptors)
    {
        using var receiver = new HelloReceiver(socket, mostDescriptors);
        while (!receiver.TryReceive())
        {
            await SocketReadiness.WaitAsync(socket, cancellationToken).ConfigureAwait(false);
        }

        return Take(receiver);
    }

    /// <summary>Takes the complete message of a receiver; null if the peer has closed before the first byte.</summary>
    public static ReceivedHello? Take(HelloReceiver receiver) =>
        receiver.Message is { } message ? new ReceivedHello(message, receiver.TakeDescriptor()) : null;

    /// <summary>Checks the limits in the peer's hello. Returns null if they are valid, else the problem.</summary>
    public static string? Check(Hello hello) =>
        SegmentLayout.IsValidRingCapacity(hello.Limits.RingCapacity)
            ? hello.Limits.Check()
            : $"a ring of {hello.Limits.RingCapacity} bytes; "
                + $"a power of two from {SegmentLayout.MinRingCapacityBytes} to {SegmentLayout.MaxRingCapacityBytes} "
                + "is allowed";

    /// <summary>
    /// Checks a valid ring of the peer against this side's own limit. Returns null if it fits; else reports the limit,
    /// and returns a sentence for the peer and for this side's user.
    /// </summary>
    /// <param name="hello">The peer's hello.</param>
    /// <param name="settings">This side's settings.</param>
    /// <param name="peer">The peer's side in a sentence, "client" or "server".</param>
    public static string? CheckPeerRing(Hello hello, ConnectionSettings settings, string peer)
    {
        long announced = hello.Limits.RingCapacity;
        if (announced <= settings.MaxPeerRingCapacity)
        {
            return null;
        }

        string self = peer == "client" ? "server" : "client";
        string text = $"The {peer}'s ring of {announced} bytes exceeds the {settings.MaxPeerRingCapacity} that "
            + $"{LargestPeerRing} of the {self} allows. Lower Ring.Capacity of the {peer}, or raise {LargestPeerRing}.";
        LimitEvents.Reached(
            settings.Logger,
            LargestPeerRing,
            settings.MaxPeerRingCapacity,
            $"a {peer} with a larger ring was refused.");
        return text;
    }

    /// <summary>
    /// A message of the peer with its descriptor. Disposing it leaves the descriptor to <see cref="ForeignHandles"/>,
    /// unless a segment was opened with it.
    /// </summary>
    internal sealed class ReceivedHello(Hello hello, SafeFileHandle? descriptor) : IDisposable
    {
        public Hello Hello => hello;

        public SafeFileHandle? Descriptor { get; private set; } = descriptor;

        /// <summary>Maps the peer's segment, to whose descriptor it then belongs. Called once, for a hello.</summary>
        /// <exception cref="SegmentException">The descriptor failed a check, or the mapping failed.</exception>
        public SharedSegment OpenSegment()
        {
            SafeFileHandle passed = Descriptor!;
            Descriptor = null;
            return SharedSegment.Open(passed, hello.Limits.RingCapacity);
        }

        /// <summary>Maps the page of the peer's statistics.</summary>
        /// <exception cref="SegmentException">The descriptor failed a check, or the mapping failed.</exception>
        public SharedPage OpenPage()
        {
            SafeFileHandle passed = Descriptor!;
            Descriptor = null;
            return SharedPage.Open(passed);
        }

        public void Dispose()
        {
            if (Descriptor is not null)
            {
                ForeignHandles.Shared.Close(Descriptor);
            }
        }
    }
}
