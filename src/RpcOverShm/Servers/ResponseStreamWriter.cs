using Grpc.Core;
using RpcOverShm.Calls;
using RpcOverShm.Protocol;

namespace RpcOverShm.Servers;

/// <summary>
/// Writes the response stream of a call, one write at a time. A write completes when the message is in the ring, so a
/// client that does not read slows the method down. While the client leaves too many responses on its connection
/// unread, messages are not even serialised.
/// </summary>
internal sealed class ResponseStreamWriter<TResponse>(
    ServerCall call, ServerCallContext context, Marshaller<TResponse> marshaller)
    : IServerStreamWriter<TResponse>, IMessagePartSink, IDisposable
    where TResponse : class
{
    private const string IsCompleteText = "Can't write the message because the request is complete.";

    private volatile Task _lastWrite = Task.CompletedTask;
    private int _isWriting;
    private volatile bool _isCompleted;
    private volatile bool _isQueueing; // a message waits for the client before it is queued
    private bool _hasSentPart; // a part of the current message

    public WriteOptions? WriteOptions
    {
        get => context.WriteOptions;
        set => context.WriteOptions = value;
    }

    public ServerCall Call => call;

    /// <summary>
    /// The marshaller of all messages, which a topic may use for those of other calls too; null if each call has one of
    /// its own, because of an encoding or an inspector.
    /// </summary>
    public Marshaller<TResponse>? TopicMarshaller =>
        call.MayEncodeResponse || call.Handler.IsInspected ? null : marshaller;

    /// <summary>Begins the messages of a topic, until the result is disposed.</summary>
    /// <exception cref="InvalidOperationException">The call has ended, or a write is in progress.</exception>
    public IDisposable BeginTopic()
    {
        if (Interlocked.Exchange(ref _isWriting, 1) != 0)
        {
            throw new InvalidOperationException(
                "Can't subscribe to the topic because the previous write is in progress.");
        }

        if (_isCompleted)
        {
            Volatile.Write(ref _isWriting, 0);
            throw new InvalidOperationException("Can't subscribe to the topic because the request is complete.");
        }

        return new Writing(this);
    }

    public Task WriteAsync(TResponse message) => WriteAsync(message, CancellationToken.None);

    public Task WriteAsync(TResponse message, CancellationToken cancellationToken)
    {
        ArgumentNullException.ThrowIfNull(message);
        if (cancellationToken.IsCancellationRequested)
        {
            call.Stop(Status.DefaultCancelled);
            return Task.FromCanceled(cancellationToken);
        }

        if (Interlocked.Exchange(ref _isWriting, 1) != 0)
        {
            return Task.FromException(new InvalidOperationException(
                "Can't write the message because the previous write is in progress."));
        }

        if (_isCompleted || call.IsUnreachable)
        {
            Volatile.Write(ref _isWriting, 0);
            return Task.FromException(new InvalidOperationException(IsCompleteText));
        }

        Task<bool> write =
            call.Owner.BufferBudget.IsSendQueueFull ? WriteLaterAsync(message) : StartWriteAsync(message);
        if (write.IsCompletedSuccessfully && write.Result)
        {
            Volatile.Write(ref _isWriting, 0);
            return write;
        }

        Task finished = FinishWriteAsync(write, cancellationToken);
        _lastWrite = finished;
        return finished;
    }

    /// <summary>
    /// Ends the stream of a method that has returned. A write that the method did not await precedes the End, because
    /// the frames of a call keep their order. A message that is not queued yet is waited for. The result of the write
    /// is ignored.
    /// </summary>
    public async ValueTask CompleteAsync()
    {
        Dispose();
        if (_isQueueing)
        {
            call.Owner.LeaveServerGate(call);
            await _lastWrite.ConfigureAwait(ConfigureAwaitOptions.SuppressThrowing);
        }
    }

    /// <summary>Marks the end of the method, which may have failed.</summary>
    public void Dispose()
    {
        _isCompleted = true;
        _ = _lastWrite.Observed();
    }

    int IMessagePartSink.SendPart(ReadOnlySpan<byte> part, int wholeLength)
    {
        int sent = call.SendPart(FrameFlags.None, part, wholeLength);
        _hasSentPart |= sent > 0;
        return sent;
    }

    // The client leaves responses unread, so this message waits, as the response of a unary method would.
    private async Task<bool> WriteLaterAsync(TResponse message)
    {
        ServerConnection owner = call.Owner;
        _isQueueing = true;
        await owner.WaitToSendResponseAsync(call.CancellationToken).ConfigureAwait(false);
        Task<bool> write;
        try
        {
            write = call.IsUnreachable ? Task.FromResult(false) : StartWriteAsync(message);
        }
        finally
        {
            _isQueueing = false;
            owner.OnResponseQueued();
        }

        return await write.ConfigureAwait(false);
    }

    private Task<bool> StartWriteAsync(TResponse message)
    {
        _hasSentPart = false;
        try
        {
            // In one piece: its handles go before it, and not at all if it cannot be serialised.
            var carried = WriteOptions as CarriedHandles;
            using FrameSerializationContext serialized =
                FrameSerializationContext.Serialize(
                    call.PrepareMarshaller(marshaller, WriteOptions),
                    message,
                    call.MaxSendMessageBytes,
                    parts: carried is null ? this : null,
                    mayRefer: true);
            if (carried is not null)
            {
                call.SendHandles(carried.ToSend);
            }

            return call.SendMessageAsync(serialized.Bytes);
        }
        catch (Exception exception)
        {
            if (_hasSentPart)
            {
                // The client has a part of the message, which can be neither completed nor taken back.
                call.Fail(exception);
            }

            return Task.FromException<bool>(exception);
        }
    }

    private async Task FinishWriteAsync(Task<bool> write, CancellationToken cancellationToken)
    {
        try
        {
            bool isSent;
            using (cancellationToken.UnsafeRegister(
                static call => ((ServerCall)call!).Stop(Status.DefaultCancelled), call))
            {
                isSent = await write.ConfigureAwait(false);
            }

            if (!isSent)
            {
                cancellationToken.ThrowIfCancellationRequested();
                throw call.IsStopped ? call.CreateStoppedException() : new InvalidOperationException(IsCompleteText);
            }
        }
        finally
        {
            Volatile.Write(ref _isWriting, 0);
        }
    }

    private sealed class Writing(ResponseStreamWriter<TResponse> writer) : IDisposable
    {
        public void Dispose() => Volatile.Write(ref writer._isWriting, 0);
    }
}
