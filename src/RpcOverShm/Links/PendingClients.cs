using System.Net.Sockets;

namespace RpcOverShm.Links;

/// <summary>
/// The clients whose hellos are not complete, oldest first: whose place a newcomer takes when all are taken, and how
/// long a hello may take. Only the doorman uses it.
/// </summary>
/// <remarks>
/// A client keeps its place for a short time in any case, because an innocent one sends its hello right after it has
/// connected. After that the process with the most places loses one to a newcomer: its oldest without a byte, else its
/// oldest. So a process that holds places in silence can delay others by that short time only.
/// </remarks>
internal sealed class PendingClients(int places, TimeSpan timeout)
{
    /// <summary>The time for which a client has its place for certain.</summary>
    public static readonly TimeSpan Grace = TimeSpan.FromMilliseconds(20);

    // With all places taken, a hello may take this part of the whole time.
    private const double ShortestShare = 1.0 / 8;

    private readonly List<PendingClient> _clients = [];

    public int Count => _clients.Count;

    public PendingClient this[int index] => _clients[index];

    /// <summary>The time that a hello may take, which shrinks as places fill.</summary>
    public TimeSpan Timeout => timeout * (1 - ((1 - ShortestShare) * Math.Min(1.0, (double)_clients.Count / places)));

    /// <summary>
    /// Whether one more client can be accepted: a place is free, or <see cref="TakeOut"/> frees one.
    /// </summary>
    public bool HasRoom(TimeSpan now) => _clients.Count < places || FindLoser(now) is not null;

    public void Add(PendingClient client) => _clients.Add(client);

    public void Remove(PendingClient client) => _clients.Remove(client);

    /// <summary>
    /// Removes and returns the client that loses its place to a newcomer; null if a place is free or none loses it yet.
    /// </summary>
    public PendingClient? TakeOut(TimeSpan now)
    {
        if (_clients.Count < places || FindLoser(now) is not { } loser)
        {
            return null;
        }

        _clients.Remove(loser);
        return loser;
    }

    /// <summary>Removes and returns the oldest client if its time is over; else null.</summary>
    public PendingClient? TakeOverdue(TimeSpan now)
    {
        if (_clients.Count == 0 || now - _clients[0].Arrived < Timeout)
        {
            return null;
        }

        PendingClient oldest = _clients[0];
        _clients.RemoveAt(0);
        return oldest;
    }

    /// <summary>Returns the time until a hello is overdue; null if none is pending.</summary>
    public TimeSpan? UntilOverdue(TimeSpan now)
    {
        if (_clients.Count == 0)
        {
            return null;
        }

        TimeSpan left = Timeout - (now - _clients[0].Arrived);
        return left > TimeSpan.Zero ? left : TimeSpan.Zero;
    }

    private PendingClient? FindLoser(TimeSpan now)
    {
        var counts = new Dictionary<int, int>();
        int most = 0;
        foreach (PendingClient client in _clients)
        {
            most = Math.Max(most, counts[client.Identity.ProcessId] =
                counts.GetValueOrDefault(client.Identity.ProcessId) + 1);
        }

        PendingClient? oldest = null;
        foreach (PendingClient client in _clients)
        {
            if (counts[client.Identity.ProcessId] == most && now - client.Arrived >= Grace)
            {
                if (client.Receiver.IsSilent)
                {
                    return client;
                }

                oldest ??= client;
            }
        }

        return oldest;
    }
}

/// <summary>A client that was accepted and whose hello is not complete.</summary>
internal sealed class PendingClient(Socket socket, PeerIdentity identity, TimeSpan arrived)
{
    public Socket Socket => socket;

    public PeerIdentity Identity => identity;

    /// <summary>The time of its arrival, on the clock of the doorman.</summary>
    public TimeSpan Arrived => arrived;

    public HelloReceiver Receiver { get; } = new(socket);
}
