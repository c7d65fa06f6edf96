using Microsoft.Extensions.Logging.Abstractions;
using RpcOverShm.Scheduling;
using RpcOverShm.Systems;

namespace RpcOverShm.TestPeer.Raw;

/// <summary>
/// Listens at a place and accepts clients without a handshake. A client that nobody accepts waits, as at a server that
/// is busy. One thread at a time accepts.
/// </summary>
internal sealed class RawDoor : IDisposable
{
    private readonly Door _door;
    private readonly Entrance _entrance = new();
    private volatile bool _isDisposed;

    /// <param name="place">The path of a socket; on Windows the name of a pipe.</param>
    public RawDoor(string place)
    {
        _door = HostSystem.Current.Listen(RawAddress.OfPlace(place), AccessPolicy.OwnUserOnly, NullLogger.Instance);
        if (_entrance.Watch(EventLoop.Door, _door.Listening) is { } problem)
        {
            throw new IOException(problem);
        }
    }

    /// <summary>Accepts the next client.</summary>
    /// <exception cref="ObjectDisposedException">The door was closed meanwhile.</exception>
    public async ValueTask<Wire> AcceptAsync()
    {
        while (true)
        {
            // Sampled first, so that a client that comes between the look and the wait is not missed.
            Task next = _entrance.NextClients;
            ObjectDisposedException.ThrowIf(_isDisposed, this);
            if (_door.TryAccept(_door.Listening, out _, out _) is { } client)
            {
                return client;
            }

            await next;
        }
    }

    public void Dispose()
    {
        _door.EndListening();
        _entrance.EndWatch();
        _door.Remove();
        _isDisposed = true;
        _entrance.Tell();
    }

    private sealed class Entrance : WatchableSource
    {
        private TaskCompletionSource _next = NewSource();

        /// <summary>Completes when clients come.</summary>
        public Task NextClients => Volatile.Read(ref _next).Task;

        /// <summary>Ends the waits for clients.</summary>
        public void Tell() => Interlocked.Exchange(ref _next, NewSource()).TrySetResult();

        protected override void OnReady() => Tell();

        private static TaskCompletionSource NewSource() => new(TaskCreationOptions.RunContinuationsAsynchronously);
    }
}
