using Grpc.Core;
using RpcOverShm.Buffers;
using RpcOverShm.Calls;
using RpcOverShm.Protocol;
using RpcOverShm.Tests.Connections;

namespace RpcOverShm.Tests.Calls;

/// <summary>Received messages on a reading thread that runs no user code inline: pending user code is queued.</summary>
internal sealed class QueuedMessages
{
    private readonly RecordingCall _call = new();
    private readonly InboundMessages _messages;

    public QueuedMessages(
        int? maxMessageBytes, uint window, bool isAlwaysRequested = false, bool isTakenAsArray = false)
    {
        var hint = new PayloadAccessHint(isInChunks: false) { IsAsArray = isTakenAsArray };
        _messages = new InboundMessages(_call, maxMessageBytes, "server", window, isAlwaysRequested, hint);
        _call.OnWork = _ => _messages.CompleteWait();
    }

    /// <summary>The granted credits, in order.</summary>
    public List<uint> Grants => _call.Grants;

    public bool IsAtEnd => _messages.IsAtEnd;

    public Status? Add(uint wholeLength, ReadOnlySpan<byte> bytes, FrameFlags flags)
    {
        Status? status = _messages.Add(wholeLength, bytes, flags);
        QueueUserCode();
        return status;
    }

    public void AddChunk(ReadOnlySpan<byte> bytes, FrameFlags flags)
    {
        _messages.AddChunk(bytes, flags);
        QueueUserCode();
    }

    public void End()
    {
        _messages.End();
        QueueUserCode();
    }

    public void EndAbruptly()
    {
        _messages.EndAbruptly();
        QueueUserCode();
    }

    public void Abort() => _messages.Abort();

    public bool TryTake(out ReceivedMessage bytes) => _messages.TryTake(out bytes);

    public ValueTask WaitAsync(CancellationToken cancellationToken = default) => _messages.WaitAsync(cancellationToken);

    private void QueueUserCode()
    {
        if (_call.HasUnqueuedUserCode)
        {
            _call.QueueUserCode();
        }
    }
}
