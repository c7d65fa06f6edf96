using System.Runtime.InteropServices;
using RpcOverShm.Diagnostics;
using RpcOverShm.Protocol;
using RpcOverShm.Segments;
using RpcOverShm.Systems;

namespace RpcOverShm.Links;

/// <summary>
/// The part of the handshake that client and server share: sends and receives its messages with their handles, and
/// checks them. One thread at a time may use a wire. A wait occupies a thread for its first 2 ms at most; the
/// caller's token cancels the rest.
/// </summary>
internal static class Handshake
{
    private const string LargestPeerRing = "Ring.MaxPeerCapacity"; // the public option

    /// <summary>Sends a hello with the handles of this side's segment and signal.</summary>
    public static void Send(Wire wire, Hello hello, SharedSegment segment, Signal signal) =>
        wire.Send(hello.Encode(), [segment.Handle, .. signal.Offer]);

    /// <summary>Sends a refusal with its reason, unless the peer is gone or does not read.</summary>
    public static void TrySendRefusal(Wire wire, ConnectionPurpose purpose, RefusalReason reason, string text)
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
            wire.Send(refusal.Encode(), []);
        }
        catch (Exception exception) when (exception is IOException or SegmentException or ObjectDisposedException)
        {
            // The peer is gone or does not read. The end of the wire is enough for it.
        }
    }

    /// <summary>
    /// Receives one message, as <see cref="HelloReceiver"/> describes; null if the peer closes before the first byte.
    /// </summary>
    /// <exception cref="ProtocolException">The message is malformed, or has a wrong number of handles.</exception>
    /// <exception cref="SegmentException">The handles that came with it could not be received.</exception>
    /// <param name="wire">The wire, which stays the caller's.</param>
    /// <param name="cancellationToken">Stops waiting.</param>
    public static async Task<ReceivedHello?> ReceiveAsync(
        Wire wire, CancellationToken cancellationToken)
    {
        using var receiver = new HelloReceiver(wire);
        while (!receiver.TryReceive())
        {
            await WireReadiness.WaitAsync(wire, cancellationToken).ConfigureAwait(false);
        }

        return Take(receiver);
    }

    /// <summary>Takes the complete message of a receiver; null if the peer has closed before the first byte.</summary>
    public static ReceivedHello? Take(HelloReceiver receiver) =>
        receiver.Message is { } message ? new ReceivedHello(message, receiver.TakeHandles()) : null;

    /// <summary>
    /// Refuses handles after the peer's hello, unless the sides have agreed on something that passes some: on loans, on
    /// handles in calls, or, for a client, on topics.
    /// </summary>
    public static void RefuseHandlesUnlessAgreed(Wire wire, Hello hello, ConnectionSettings settings)
    {
        uint passing = Hello.KnownFeatures & ~(hello.Type == HelloType.Client ? Hello.TopicsFeature : 0);
        if ((hello.Features & settings.Features & passing) == 0)
        {
            wire.RefuseHandles();
        }
    }

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
    /// A message of the peer with its handles. Disposing it leaves those that nobody has taken to
    /// <see cref="ForeignHandles"/>.
    /// </summary>
    internal sealed class ReceivedHello(Hello hello, SafeHandle[] handles) : IDisposable
    {
        private SafeHandle[] _handles = handles;

        public Hello Hello => hello;

        /// <summary>The handles that nobody has taken: that of the memory first, then those of the signal.</summary>
        public IReadOnlyList<SafeHandle> Handles => _handles;

        /// <summary>Maps the peer's segment, to whose handle it then belongs. Called once, for a hello.</summary>
        /// <exception cref="SegmentException">The handle failed a check, or the mapping failed.</exception>
        public SharedSegment OpenSegment() => SharedSegment.Open(TakeFirst(), hello.Limits.RingCapacity);

        /// <summary>Maps the page of the peer's statistics.</summary>
        /// <exception cref="SegmentException">The handle failed a check, or the mapping failed.</exception>
        public SharedPage OpenPage() => SharedPage.Open(TakeFirst());

        /// <summary>Connects this side's signal with the peer's, after the segment was opened.</summary>
        /// <exception cref="SegmentException">A handle failed a check.</exception>
        public void Connect(Signal signal, SharedSegment own, SharedSegment peer)
        {
            SafeHandle[] passed = _handles;
            _handles = [];
            var words = new SignalWords(
                new SharedWord(ref own.Tail),
                new SharedWord(ref own.Head),
                new SharedWord(ref peer.Tail),
                new SharedWord(ref peer.Head));
            signal.Attach(words, passed);
        }

        public void Dispose() => Array.ForEach(_handles, ForeignHandles.Shared.Close);

        private SafeHandle TakeFirst()
        {
            SafeHandle first = _handles[0];
            _handles = _handles[1..];
            return first;
        }
    }
}
