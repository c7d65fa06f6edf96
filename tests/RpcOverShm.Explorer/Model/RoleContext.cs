using System.Reflection;

namespace RpcOverShm.Explorer.Model;

/// <summary>A role's view of its process: segments, link, and the rules that its code asserts.</summary>
internal sealed unsafe class RoleContext(RoleRun run)
{
    private static readonly System.Collections.Concurrent.ConcurrentDictionary<Type, FieldInfo[]> s_fields = new();

    private readonly List<object> _tracked = [];
    private readonly bool _hasEvents = run.HasEvents;
    private PeerLink? _link;

    public SharedSegment Own { get; } = new(run.AddressOf(run.Process), run.Map);

    public SharedSegment Peer { get; } = new(run.AddressOf(run.Process == 0 ? 1 : 0), run.Map);

    /// <summary>The segment of the topic, which process 0 publishes.</summary>
    public TopicSegment Topic { get; } = new(run.AddressOf(0), run.Map);

    public PeerLink Link => _link ??= new PeerLink(Own, Peer, run);

    public int Process => run.Process;

    /// <summary>Returns the segment of a process that subscribes to the topic.</summary>
    public SharedSegment SegmentOf(int process) => new(run.AddressOf(process), run.Map);

    /// <summary>Sleeps until another process wakes this one; see <see cref="Scenario.HasBells"/>.</summary>
    public void Sleep() => run.Perform(new Op(OpKind.Sleep, BellOf(run.Process)));

    /// <summary>Wakes a process, by a byte on its socket.</summary>
    public void Wake(int process) => run.Perform(new Op(OpKind.Wake, BellOf(process)));

    /// <summary>The role's own local variables, in one number.</summary>
    public long Progress { get; set; }

    /// <summary>The role's result, for the rule of the scenario.</summary>
    public long Result { get; set; }

    public bool HasEvents => _hasEvents;

    /// <summary>Adds an object whose private fields belong to the state of this role.</summary>
    public T Track<T>(T item)
        where T : class
    {
        _tracked.Add(item);
        return item;
    }

    /// <summary>Ends the preparation.</summary>
    public void Ready()
    {
        run.Perform(new Op(OpKind.Ready));
        run.Checkpoint();
    }

    /// <summary>Notes that the role has no local variables but these.</summary>
    public void Checkpoint(long progress)
    {
        Progress = progress;
        run.Checkpoint();
    }

    public static void Fail(string what) => throw new ModelViolationException(what);

    public static void Require(bool isTrue, string what)
    {
        if (!isTrue)
        {
            Fail(what);
        }
    }

    /// <summary>Waits until the peer's end of the socket is closed.</summary>
    public void AwaitPeerEnd() => run.Perform(new Op(OpKind.AwaitPeerEnd));

    /// <summary>Reads eight bytes of payload, which the peer may change meanwhile.</summary>
    public long ReadPayload(ReadOnlySpan<byte> place)
    {
        fixed (byte* address = place)
        {
            return run.Perform(new Op(OpKind.Read, run.LocationOf(address)));
        }
    }

    /// <summary>Fails if the payload is not inside one of the peer's rings.</summary>
    public void RequireInside(ReadOnlySpan<byte> payload)
    {
        fixed (byte* start = payload)
        {
            long offset = start - Peer.Data;
            long end = offset < Peer.FirstCapacity ? Peer.FirstCapacity : Peer.FirstCapacity + Peer.SecondCapacity;
            Require(
                payload.IsEmpty || (offset >= 0 && offset + payload.Length <= end),
                $"A payload of {payload.Length} bytes at {offset} leaves the ring.");
        }
    }

    /// <summary>Returns a private field of an object under test.</summary>
    public static long Field(object item, string name) =>
        Convert.ToInt64(item.GetType().GetField(name, BindingFlags.Instance | BindingFlags.NonPublic)!.GetValue(item));

    // Any word of the process's own: it names the bell.
    private static int BellOf(int process) => MemoryMap.Word(process, 0);

    public ulong Fingerprint()
    {
        ulong hash = Hash.Combine(1, Progress);
        foreach (object item in _tracked)
        {
            foreach (FieldInfo field in s_fields.GetOrAdd(item.GetType(), FieldsOf))
            {
                hash = Hash.Combine(hash, ToLong(field.GetValue(item)));
            }
        }

        return hash;
    }

    private static FieldInfo[] FieldsOf(Type type) =>
    [
        .. type.GetFields(BindingFlags.Instance | BindingFlags.NonPublic | BindingFlags.Public)
            .Where(field => !field.IsInitOnly)
            .Where(field => field.FieldType == typeof(long)
                || field.FieldType == typeof(int)
                || field.FieldType == typeof(bool)
                || field.FieldType.IsEnum
                || field.FieldType == typeof(long[])),
    ];

    private static long ToLong(object? value) => value switch
    {
        null => -1,
        long[] words => words[0],
        long number => number,
        int number => number,
        bool flag => flag ? 1 : 0,
        Enum member => Convert.ToInt64(member),
        _ => throw new InvalidOperationException("Not a number."),
    };
}
