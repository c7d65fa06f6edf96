using RpcOverShm.Systems;

namespace RpcOverShm.Links;

/// <summary>
/// The server's end of an address: a door, and a doorman who accepts clients. A callback takes each finished link.
/// Disposing the listener gives the address up.
/// </summary>
internal sealed class Listener : IAsyncDisposable
{
    // The doorman waits for nobody, so it ends at once; this bound is for a machine without time for it, or a disk that
    // does not answer.
    private static readonly TimeSpan s_longestStop = TimeSpan.FromSeconds(5);

    private readonly Door _door;
    private readonly Doorman _doorman;
    private int _isDisposed;

    private Listener(Door door, Doorman doorman)
    {
        _door = door;
        _doorman = doorman;
    }

    /// <summary>The place in the system at which clients find it now, such as the path of its socket.</summary>
    public string Place => _door.Address.Place;

    /// <summary>
    /// Listens at an address. Calls <paramref name="onConnected"/> with each finished link, on the loop of the doors,
    /// so it must neither wait nor run user code; the callback owns the link.
    /// </summary>
    /// <exception cref="ConnectException">
    /// Another server or program holds the address, or the operating system refused a step.
    /// </exception>
    /// <exception cref="PlatformNotSupportedException">There is no transport for this system.</exception>
    public static Listener Start(RendezvousAddress address, ConnectionSettings settings, Action<PeerLink> onConnected)
    {
        if (!settings.IsPlatformSupported)
        {
            throw HostSystem.NotSupported();
        }

        Door? door = null;
        try
        {
            address = address.Resolve();
            door = HostSystem.Current.Listen(address, settings.Access, settings.Logger);
            var doorman = new Doorman(door, settings, onConnected);
            if (doorman.TryStart() is { } problem)
            {
                throw new ConnectException(
                    ConnectFailure.SystemError, $"Cannot listen at {address.Name}: {problem}");
            }

            var listener = new Listener(door, doorman);
            door = null;
            return listener;
        }
        catch (Exception exception) when (exception is IOException or UnauthorizedAccessException)
        {
            throw new ConnectException(
                ConnectFailure.SystemError, $"Cannot listen at {address.Name}: {exception.Message}", exception);
        }
        finally
        {
            door?.Remove();
        }
    }

    /// <summary>Stops accepting and gives the address up. Finished links stay open.</summary>
    public async ValueTask DisposeAsync()
    {
        if (Interlocked.Exchange(ref _isDisposed, 1) != 0)
        {
            return;
        }

        _doorman.Stop();
        await _doorman.Ended.WaitAsync(s_longestStop).ConfigureAwait(ConfigureAwaitOptions.SuppressThrowing);
        _door.Remove();
    }
}
