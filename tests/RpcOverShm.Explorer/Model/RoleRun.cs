using System.Runtime.InteropServices;

namespace RpcOverShm.Explorer.Model;

/// <summary>
/// Runs the code of one role on this thread, from its beginning to its next step. Each earlier step returns its logged
/// result. Plain stores go to real memory of the role's own; comparing that memory before and after finds them.
/// </summary>
internal sealed unsafe class RoleRun : IDisposable
{
    // More steps than any correct role makes: a role that exceeds them does not end.
    private const int MostSteps = 1500;
    private const int Guard = 4096;

    [ThreadStatic]
    private static RoleRun? s_current;

    private readonly StepReachedException _stepReached = new();
    private readonly MemoryMap _map;
    private readonly Scenario _scenario;
    private readonly byte* _block;
    private readonly int _stride;
    private readonly long[] _shadow;
    private readonly LogEntry[] _log = new LogEntry[MostSteps];
    private readonly List<BufferedStore> _stores = [];
    private RoleSpec _role = null!;
    private RoleContext _context = null!;
    private int _count;
    private int _position;
    private bool _isStopped;
    private ulong _fingerprint;
    private Op _pending;

    public RoleRun(Scenario scenario)
    {
        _scenario = scenario;
        _map = new MemoryMap(scenario.Capacity, scenario.SecondCapacity, scenario.HasTopic ? 1 : 2);
        _stride = SharedSegment.HeaderBytes + scenario.Capacity + scenario.SecondCapacity + Guard;
        _block = (byte*)NativeMemory.AlignedAlloc((nuint)(MemoryMap.Processes * _stride), Guard);
        _shadow = new long[_map.Pieces];
    }

    /// <summary>The run on this thread.</summary>
    public static RoleRun Current => s_current!;

    public MemoryMap Map => _map;

    public int Process => _role.Process;

    /// <summary>Whether the scenario has local events. If not, reading their words is no step.</summary>
    public bool HasEvents => _scenario.HasEvents;

    public void Dispose() => NativeMemory.AlignedFree(_block);

    /// <summary>Returns the address of a segment in the role's view.</summary>
    public byte* AddressOf(int segment) => _block + (segment * _stride);

    /// <summary>Runs the role up to the first step that the log of this state does not contain.</summary>
    public RoleState Run(RoleSpec role, RoleState state)
    {
        string? failure = null;
        try
        {
            Prepare(role, state);
            role.Program(_context);
            Stop(new Op(OpKind.Done, Value: _context.Result));
        }
        catch (StepReachedException)
        {
            // The ordinary end: the pending step is noted.
        }
        catch (Exception exception)
        {
            failure = exception is ModelViolationException ? exception.Message : exception.ToString();
            _pending = new Op(OpKind.Failed);
        }
        finally
        {
            s_current = null;
        }

        return new RoleState(
            state.Log,
            _fingerprint,
            _pending,
            _stores.Count == 0 ? state.Buffer : [.. state.Buffer, .. _stores])
        {
            Failure = failure,
        };
    }

    /// <summary>Makes a step: returns its logged result, or ends the run here.</summary>
    public long Perform(in Op op)
    {
        if (_isStopped)
        {
            // The run is being unwound; a finally block of the role's code makes this step.
            return 0;
        }

        if (_position == _count)
        {
            CollectPlainStores();
            if (op.Kind == OpKind.Sleep)
            {
                // A sleeping loop keeps nothing but its objects' fields and the arguments of the sleep.
                _fingerprint = _context.Fingerprint();
            }

            Stop(op);
            throw _stepReached;
        }

        LogEntry entry = _log[_position++];
        if (_position == _count)
        {
            OwnData.CopyTo(_shadow);
        }

        if (_scenario.HasRawReads)
        {
            ShowPeerData(entry.Memory);
        }

        return entry.Result;
    }

    /// <summary>Makes a buffered store, which is no step of its own.</summary>
    public void Store(int location, long value, bool isRelease)
    {
        if (!_isStopped && _position == _count)
        {
            CollectPlainStores();
            _stores.Add(new BufferedStore(location, value, isRelease));
        }
    }

    /// <summary>Notes that the role's future depends only on its progress and its objects' fields.</summary>
    public void Checkpoint()
    {
        if (!_isStopped && _position == _count)
        {
            _fingerprint = _context.Fingerprint();
        }
    }

    /// <summary>
    /// Notes that a record was read: what this role did since its last checkpoint shows in its objects' fields, and in
    /// the bytes that it may have copied.
    /// </summary>
    public void RecordRead()
    {
        if (_isStopped || _position != _count)
        {
            return;
        }

        ulong hash = _context.Fingerprint();
        foreach (long bytes in _scenario.HasRawReads ? PeerData : [])
        {
            hash = Hash.Combine(hash, bytes);
        }

        _fingerprint = hash;
    }

    /// <summary>Whether the address is in a segment, and not in private memory.</summary>
    public bool IsShared(void* address) =>
        (byte*)address >= _block && (byte*)address < _block + (MemoryMap.Processes * _stride);

    /// <summary>Returns the location of a word, or of eight bytes of ring data.</summary>
    public int LocationOf(void* address)
    {
        long offset = (byte*)address - _block;
        if (offset < 0 || offset >= MemoryMap.Processes * _stride)
        {
            // The only other word whose address the code takes is the counter of local events.
            return MemoryMap.Private(_role.Process, MemoryMap.LocalEvents);
        }

        int segment = (int)(offset / _stride);
        int inside = (int)(offset % _stride);
        if (inside < SharedSegment.HeaderBytes)
        {
            return MemoryMap.Word(segment, (inside / 128) - 1);
        }

        int piece = (inside - SharedSegment.HeaderBytes) / sizeof(long);
        return inside % sizeof(long) == 0 && piece < _map.Pieces && segment < _map.Rings
            ? _map.Data(segment, piece)
            : throw new ModelViolationException($"An access {inside - SharedSegment.HeaderBytes} bytes into the ring.");
    }

    private Span<long> OwnData => DataOf(_role.Process);

    private Span<long> PeerData => DataOf(1 - _role.Process);

    // A subscriber to a topic has no ring.
    private Span<long> DataOf(int segment) => segment < 0 || segment >= _map.Rings
        ? []
        : new Span<long>(_block + (segment * _stride) + SharedSegment.HeaderBytes, _map.Pieces);

    private void Prepare(RoleSpec role, RoleState state)
    {
        _role = role;
        _count = state.Log?.Count ?? 0;
        if (_count >= MostSteps)
        {
            throw new ModelViolationException($"{role.Name} made {MostSteps} steps and does not end.");
        }

        LogEntry? entry = state.Log;
        for (int i = _count - 1; i >= 0; i--, entry = entry!.Previous)
        {
            _log[i] = entry!;
        }

        _position = 0;
        _isStopped = false;
        _fingerprint = state.Fingerprint;
        _stores.Clear();
        OwnData.Clear();
        Array.Clear(_shadow);
        PeerData.Clear();
        s_current = this;
        _context = new RoleContext(this);
    }

    private void Stop(in Op op)
    {
        _pending = op;
        _isStopped = true;
    }

    private void ShowPeerData(long[] memory) =>
        memory.AsSpan(_map.Data(1 - _role.Process, 0), _map.Pieces).CopyTo(PeerData);

    private void CollectPlainStores()
    {
        Span<long> data = OwnData;
        if (data.IsEmpty || data.SequenceEqual(_shadow))
        {
            return;
        }

        for (int i = 0; i < data.Length; i++)
        {
            if (data[i] != _shadow[i])
            {
                _stores.Add(new BufferedStore(_map.Data(_role.Process, i), data[i], IsRelease: false));
                _shadow[i] = data[i];
            }
        }
    }
}

/// <summary>Ends a run at the role's next step.</summary>
internal sealed class StepReachedException : Exception;

/// <summary>A rule that a role found broken.</summary>
internal sealed class ModelViolationException(string message) : Exception(message);
