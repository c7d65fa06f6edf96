using System.Buffers;
using RpcOverShm.Buffers;
using RpcOverShm.Connections;
using RpcOverShm.Links;
using RpcOverShm.Protocol;
using RpcOverShm.Scheduling;

namespace RpcOverShm.Tests.Connections;

/// <summary>
/// A call of either side that records its events for the test's thread. Events that are illegal on its side go to the
/// base class.
/// </summary>
internal sealed class RecordingCall : ConnectionCall
{
    private readonly List<string> _events = [];
    private readonly InlineBudget _budget = new();
    private readonly bool _isServed;

    public RecordingCall(bool isServed = false, AutoResetLatch? latch = null)
    {
        _isServed = isServed;
        Latch = latch;
    }

    /// <summary>Runs after each recorded event, on the thread that recorded it.</summary>
    public Action<RecordingCall, string>? OnEvent { get; set; }

    /// <summary>The bytes of all messages, concatenated.</summary>
    public List<byte> ReceivedMessage { get; } = [];

    public byte[] LastHead { get; private set; } = [];

    public CloseReason? CloseReason { get; private set; }

    /// <summary>The granted credits, in order.</summary>
    public List<uint> Grants { get; } = [];

    /// <summary>The action for pending user code; must be set before the code becomes pending.</summary>
    public Action<PendingUserCode>? OnWork { get; set; }

    /// <summary>The hand-over to a blocked thread, and its success; null if no blocked thread runs this call.</summary>
    public Func<bool>? OnHandOver { get; set; }

    /// <summary>The name under which the calls of its method know the call; null for none.</summary>
    public ParentCall? KnownAs { get; init; }

    public override ParentCall? AsParent => KnownAs;

    public override bool RunsOnBlockedThread => OnHandOver is not null;

    public override InlineBudget InlineBudget => _budget;

    public string[] Events
    {
        get
        {
            lock (_events)
            {
                return [.. _events];
            }
        }
    }

    public void Complete() => EndWait();

    public override void OnStart(ReadOnlySpan<byte> head, ReadOnlySpan<byte> message, FrameFlags flags)
    {
        if (!_isServed)
        {
            base.OnStart(head, message, flags);
        }

        LastHead = head.ToArray();
        ReceivedMessage.AddRange(message);
        Note($"start {flags}: {head.Length}, {message.Length}");
    }

    public override void OnHeadTooLarge(FrameKind kind) => Note($"head too large: {kind}");

    public override void OnHeadOverBudget(BufferBudget full) => Note($"head not kept: {full.Option}");

    public override void OnEndDropped(BufferBudget? full)
    {
        Note($"end dropped: {full?.Option}");
        EndWait();
    }

    public override void OnHeaders(ReadOnlySpan<byte> head)
    {
        if (_isServed)
        {
            base.OnHeaders(head);
        }

        LastHead = head.ToArray();
        Note($"headers: {head.Length}");
    }

    public override void OnMessage(uint wholeLength, ReadOnlySpan<byte> bytes, FrameFlags flags)
    {
        ReceivedMessage.AddRange(bytes);
        Note($"message {flags}: {bytes.Length} of {wholeLength}");
    }

    public override void OnLoanedMessage(ReceivedMessage message, int recordBytes, FrameFlags flags)
    {
        ReceivedMessage.AddRange(message.AsSequence().ToArray());
        Note($"loaned {flags}: {message.Length} in {recordBytes}");
        message.Release();
    }

    public override void OnHandles(HandleSet? set)
    {
        Note($"handles {set is not null}");
        set?.Close();
    }

    public override void OnMessageChunk(ReadOnlySpan<byte> bytes, FrameFlags flags)
    {
        ReceivedMessage.AddRange(bytes);
        Note($"chunk {flags}: {bytes.Length}");
    }

    public override void OnHalfClose()
    {
        if (!_isServed)
        {
            base.OnHalfClose();
        }

        Note("half-close");
    }

    public override void OnCancel()
    {
        if (!_isServed)
        {
            base.OnCancel();
        }

        Note("cancel");
    }

    public override void OnEnd(ReadOnlySpan<byte> head, ReadOnlySpan<byte> message, FrameFlags flags)
    {
        if (_isServed)
        {
            base.OnEnd(head, message, flags);
        }

        LastHead = head.ToArray();
        ReceivedMessage.AddRange(message);
        Note($"end {flags}: {head.Length}, {message.Length}");
        EndWait();
    }

    public override void OnConnectionClosed(CloseReason reason)
    {
        CloseReason = reason;
        Note($"closed: {reason.Kind}");
        EndWait();
        Latch?.Signal();
    }

    public override void GrantCredit(uint bytes) => Grants.Add(bytes);

    protected override void Execute(PendingUserCode userCode) => OnWork?.Invoke(userCode);

    protected override bool TryRunOnBlockedThread() => OnHandOver?.Invoke() == true;

    private void Note(string what)
    {
        lock (_events)
        {
            _events.Add(what);
        }

        OnEvent?.Invoke(this, what);
    }
}
