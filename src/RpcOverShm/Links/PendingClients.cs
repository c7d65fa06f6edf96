using System.Runtime.InteropServices;
using RpcOverShm.Scheduling;
using RpcOverShm.Systems;

namespace RpcOverShm.Links;

/// <summary>
/// The clients whose hellos are not complete, oldest first: whose place a newcomer takes when all are taken, and how
/// long a hello may take. Only the doorman uses it.
/// </summary>
/// <remarks>
/// A client keeps its place for a short time in any case, because an innocent one sends its hello right after it has
/// connected. After that the process with the most places loses one to a newcomer: its oldest without a byte, else its
/// oldest. So a process that holds places in silence can delay others by that short time only. While more clients come
/// than leave, the system's queue fills. That time then shortens with each place that a newcomer has taken since the
/// queue was last empty: a client that comes now has had its time in the queue.
/// </remarks>
internal sealed class PendingClients(int places, TimeSpan timeout)
{
    /// <summary>The longest time for which a client has its place for certain.</summary>
    public static readonly TimeSpan LongestGrace = TimeSpan.FromMilliseconds(20);

    // With all places taken, a hello may take this part of the whole time.
    private const double ShortestShare = 1.0 / 8;

    private readonly List<PendingClient> _clients = [];
    private readonly Dictionary<int, int> _byProcess = [];
    private int _takenOut; // since the system's queue was last empty

    public int Count => _clients.Count;

    public PendingClient this[int index] => _clients[index];

    /// <summary>The time that a hello may take, which shrinks as places fill.</summary>
    public TimeSpan Timeout => timeout * (1 - ((1 - ShortestShare) * Math.Min(1.0, (double)_clients.Count / places)));

    private TimeSpan Grace => LongestGrace * Math.Max(0, 1 - ((double)_takenOut / places));

    /// <summary>
    /// Returns the time until one more client can be accepted: zero if a place is free, or if <see cref="TakeOut"/>
    /// frees one.
    /// </summary>
    public TimeSpan UntilRoom(TimeSpan now)
    {
        if (_clients.Count < places)
        {
            return TimeSpan.Zero;
        }

        int most = MostOfAProcess;
        int oldest = 0;
        while (!IsOf(_clients[oldest], most))
        {
            oldest++;
        }

        TimeSpan left = _clients[oldest].Arrived + Grace - now;
        return left > TimeSpan.Zero ? left : TimeSpan.Zero;
    }

    public void Add(PendingClient client)
    {
        // Both have memory before either has the client.
        _clients.EnsureCapacity(_clients.Count + 1);
        CollectionsMarshal.GetValueRefOrAddDefault(_byProcess, client.Identity.ProcessId, out _)++;
        _clients.Add(client);
    }

    /// <summary>
    /// Removes a client. Its wire is not watched any more, so it may be closed. Returns false if it is not here.
    /// </summary>
    public bool Remove(PendingClient client)
    {
        if (!_clients.Remove(client))
        {
            return false;
        }

        client.EndWatch();
        ref int left = ref CollectionsMarshal.GetValueRefOrNullRef(_byProcess, client.Identity.ProcessId);
        if (--left == 0)
        {
            _byProcess.Remove(client.Identity.ProcessId);
        }

        return true;
    }

    /// <summary>Notes that no client waits in the system's queue.</summary>
    public void OnQueueEmpty() => _takenOut = 0;

    /// <summary>Removes a client that loses its place to a newcomer. Returns false if it is not here.</summary>
    public bool TakeOut(PendingClient loser)
    {
        if (!Remove(loser))
        {
            return false;
        }

        _takenOut++;
        return true;
    }

    /// <summary>Returns the oldest client if its time is over; else null.</summary>
    public PendingClient? FindOverdue(TimeSpan now) =>
        _clients.Count > 0 && now - _clients[0].Arrived >= Timeout ? _clients[0] : null;

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

    private int MostOfAProcess
    {
        get
        {
            int most = 0;
            foreach (int own in _byProcess.Values)
            {
                most = Math.Max(most, own);
            }

            return most;
        }
    }

    /// <summary>
    /// Returns the client that loses its place to a newcomer; null if a place is free or none loses it yet.
    /// </summary>
    public PendingClient? FindLoser(TimeSpan now)
    {
        if (_clients.Count < places)
        {
            return null;
        }

        int most = MostOfAProcess;
        TimeSpan grace = Grace;
        PendingClient? oldest = null;
        foreach (PendingClient client in _clients)
        {
            if (IsOf(client, most) && now - client.Arrived >= grace)
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

    private bool IsOf(PendingClient client, int places) => _byProcess[client.Identity.ProcessId] == places;
}

/// <summary>A client that was accepted and whose hello is not complete.</summary>
internal sealed class PendingClient(
    Wire wire, PeerIdentity identity, TimeSpan arrived, Action<PendingClient> onReadable) : WatchableSource
{
    public Wire Wire => wire;

    public PeerIdentity Identity => identity;

    /// <summary>The time of its arrival, on the clock of the doorman.</summary>
    public TimeSpan Arrived => arrived;

    public HelloReceiver Receiver { get; } = new(wire);

    protected override void OnReady() => onReadable(this);
}
