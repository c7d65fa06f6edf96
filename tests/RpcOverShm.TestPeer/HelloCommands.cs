using Microsoft.Extensions.Logging.Abstractions;
using RpcOverShm.Links;
using RpcOverShm.Protocol;
using RpcOverShm.Segments;
using RpcOverShm.Systems;
using RpcOverShm.TestPeer.Raw;

namespace RpcOverShm.TestPeer;

/// <summary>
/// Plays a build of another protocol version: speaks the handshake by hand, up to the other side's answer.
/// </summary>
internal static class HelloCommands
{
    private static readonly PeerLimits s_limits = new(64 << 10, PeerLimits.SmallestCallWindow, 1, 0);

    /// <summary>Sends a client's hello with these versions to a server; the reply is the server's answer.</summary>
    public static async Task<string> GreetAsync(string place, int lowest, int highest)
    {
        using Wire wire = await HostSystem.Current.ConnectAsync(
            RawAddress.OfPlace(place), NullLogger.Instance, CancellationToken.None);
        using Signal signal = HostSystem.Current.CreateSignal();
        using var segment = SharedSegment.Create(s_limits.RingCapacity, Guid.NewGuid());
        Handshake.Send(wire, MakeHello(HelloType.Client, Guid.NewGuid(), lowest, highest), segment, signal);
        using Handshake.ReceivedHello? answer = await Handshake.ReceiveAsync(wire, CancellationToken.None);
        return answer?.Hello is { } hello
            ? $"{hello.Type} {hello.RefusalReason} {hello.LowestVersion} {hello.RefusalText}"
            : "closed";
    }

    /// <summary>
    /// Listens, and answers the next client with this version, independently of the client's versions.
    /// </summary>
    public static Task<string> AnswerAsync(string place, int version)
    {
        var door = new RawDoor(place);
        _ = AnswerOneAsync(door, version);
        return Task.FromResult("");
    }

    private static async Task AnswerOneAsync(RawDoor door, int version)
    {
        using (door)
        {
            using Wire client = await door.AcceptAsync();
            using Handshake.ReceivedHello? hello = await Handshake.ReceiveAsync(client, CancellationToken.None);
            using Signal signal = HostSystem.Current.CreateSignal();
            using var segment = SharedSegment.Create(s_limits.RingCapacity, hello!.Hello.ConnectionId);
            Hello answer = MakeHello(HelloType.Server, hello.Hello.ConnectionId, version, version);
            Handshake.Send(client, answer, segment, signal);

            // Until the client has read the answer and closed its wire.
            await Handshake.ReceiveAsync(client, CancellationToken.None);
        }
    }

    private static Hello MakeHello(HelloType type, Guid id, int lowest, int highest) =>
        RawHello.Of(type, s_limits, id) with { LowestVersion = (ushort)lowest, HighestVersion = (ushort)highest };
}
