using System.Threading.Channels;
using Microsoft.Extensions.Logging.Abstractions;
using RpcOverShm.Scheduling;
using RpcOverShm.Systems;

namespace RpcOverShm.TestPeer.Raw;

/// <summary>Listens at a place and accepts clients without a handshake.</summary>
internal sealed class RawDoor : IDisposable
{
    private readonly Door _door;
    private readonly Entrance _entrance;
    private readonly Channel<Wire> _clients = Channel.CreateUnbounded<Wire>();

    /// <param name="place">The path of a socket; on Windows the name of a pipe.</param>
    public RawDoor(string place)
    {
        _door = HostSystem.Current.Listen(RawAddress.OfPlace(place), AccessPolicy.OwnUserOnly, NullLogger.Instance);
        _entrance = new Entrance(_door, _clients.Writer);
        if (_entrance.Watch(EventLoop.Door, _door.Listening) is { } problem)
        {
            throw new IOException(problem);
        }
    }

    /// <summary>Accepts the next client.</summary>
    public ValueTask<Wire> AcceptAsync() => _clients.Reader.ReadAsync();

    public void Dispose()
    {
        _door.EndListening();
        _entrance.EndWatch();
        _door.Remove();
        _clients.Writer.TryComplete();
        while (_clients.Reader.TryRead(out Wire? client))
        {
            client.Dispose();
        }
    }

    private sealed class Entrance(Door door, ChannelWriter<Wire> clients) : WatchableSource
    {
        protected override void OnReady()
        {
            while (door.TryAccept(door.Listening, out _, out _) is { } client)
            {
                if (!clients.TryWrite(client))
                {
                    client.Dispose(); // The test has ended.
                }
            }
        }
    }
}
