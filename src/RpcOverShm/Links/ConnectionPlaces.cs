using System.Runtime.InteropServices;
using RpcOverShm.Diagnostics;
using RpcOverShm.Systems;

namespace RpcOverShm.Links;

/// <summary>
/// Counts the connections of one listener, in all, for each client process and for each other user, against the options
/// and against what the system allows. A connection keeps its place until its memory is unmapped. Thread-safe.
/// </summary>
internal sealed class ConnectionPlaces
{
    /// <summary>
    /// The descriptors that stay free besides those in <see cref="ReservedPerConnection"/>. Without a free one the
    /// runtime ends the process when a thread starts, and cannot load an assembly.
    /// </summary>
    public const int ReservedDescriptors = 64;

    /// <summary>
    /// The descriptors that stay free for each connection: methods open files and sockets of their own.
    /// </summary>
    public const int ReservedPerConnection = 1;

    // Two segments. No thread belongs to one connection.
    private const int MappingsPerConnection = 2;

    // Half of the mappings are left to the rest of the process.
    private const int ShareOfMappings = 2;

    private readonly DoorLimits _limits;
    private readonly long _most;
    private readonly string _nameOfMost;
    private readonly Func<long> _maxDescriptors;
    private readonly UninterruptibleLock _lock = new();
    private readonly Dictionary<int, int> _byProcess = [];
    private readonly UserShares _byUser;
    private readonly long _mostOfProcess;
    private int _count;

    public ConnectionPlaces(DoorLimits limits)
        : this(limits, HostSystem.Current.MaxMappings, static () => HostSystem.Current.MaxHandles)
    {
    }

    /// <summary>Creates places for a system with these limits, for tests.</summary>
    public ConnectionPlaces(DoorLimits limits, long maxMappings, Func<long> maxDescriptors)
    {
        long most = Math.Max(1, maxMappings / ShareOfMappings / MappingsPerConnection);
        bool isOption = limits.MaxConnections <= most;
        _limits = limits;
        _most = isOption ? limits.MaxConnections!.Value : most;
        _nameOfMost = isOption ? nameof(DoorLimits.MaxConnections) : HostSystem.Current.MaxMappingsName;
        _mostOfProcess = limits.MaxConnectionsPerProcess ?? UserShares.HalfOf(_most);
        _byUser = new UserShares(limits.MaxConnectionsPerUser ?? UserShares.HalfOf(_most));
        _maxDescriptors = maxDescriptors;
    }

    /// <summary>The connections that have a place.</summary>
    public int Count => Volatile.Read(ref _count);

    /// <summary>
    /// Takes a place. Returns null on success, else the limit that is reached. The holder of a place calls
    /// <see cref="GiveBack"/> once.
    /// </summary>
    public ReachedLimit? Take(PeerIdentity client)
    {
        using (_lock.Enter())
        {
            int own = _byProcess.GetValueOrDefault(client.ProcessId);
            if (_count >= _most)
            {
                return new ReachedLimit(_nameOfMost, _most, $"there are {_count} connections");
            }

            if (own >= _mostOfProcess)
            {
                return new ReachedLimit(
                    nameof(DoorLimits.MaxConnectionsPerProcess),
                    _mostOfProcess,
                    $"process {client.ProcessId} has {own} connections");
            }

            if (!_byUser.TryTake(client))
            {
                return new ReachedLimit(
                    nameof(DoorLimits.MaxConnectionsPerUser),
                    _byUser.Most,
                    $"user {client.User} has {_byUser.Most} connections");
            }

            _byProcess[client.ProcessId] = own + 1;
            _count++;
            return null;
        }
    }

    public void GiveBack(PeerIdentity client)
    {
        using (_lock.Enter())
        {
            ref int own = ref CollectionsMarshal.GetValueRefOrNullRef(_byProcess, client.ProcessId);
            if (--own == 0)
            {
                _byProcess.Remove(client.ProcessId);
            }

            _byUser.GiveBack(client);
            _count--;
        }
    }

    /// <summary>
    /// Returns the limit that is reached if too few descriptors are free beyond this accepted wire; else null.
    /// Without an option for them, other users leave half to the own user's clients.
    /// </summary>
    public ReachedLimit? CheckDescriptors(Wire accepted, PeerIdentity client)
    {
        long all = _maxDescriptors();
        long most = all - ReservedDescriptors - ((long)Count * ReservedPerConnection);
        if (_limits.MaxConnectionsPerUser is null && !client.IsOwnUser)
        {
            most = UserShares.HalfOf(most);
        }

        int number = accepted.Number;
        return number < most
            ? null
            : new ReachedLimit(
                HostSystem.Current.MaxHandlesName,
                all,
                $"the server process has {number} descriptors open, and the others are kept for its own use");
    }
}

/// <summary>A limit that refuses a client: its name and value, and the facts, as a part of a sentence.</summary>
internal sealed record ReachedLimit(string Option, long Limit, string Facts)
{
    /// <summary>The text of the refusal. A process that reaches its own limit learns what it can do.</summary>
    public override string ToString() => $"The server takes no more clients: {Facts} ({Option} = {Limit})."
        + (Option == nameof(DoorLimits.MaxConnectionsPerProcess)
            ? " Use one channel for each server, and dispose channels and streams that are not needed."
            : "");
}
