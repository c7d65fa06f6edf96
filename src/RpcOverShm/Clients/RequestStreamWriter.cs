using System.IO.Compression;
using Grpc.Core;
using RpcOverShm.Buffers;
using RpcOverShm.Calls;
using RpcOverShm.Connections;
using RpcOverShm.Protocol;

namespace RpcOverShm.Clients;

/// <summary>
/// Writes the requests of a streaming call, one at a time. A write completes when the message is in the ring, so a
/// server that does not read stalls the writer.
/// </summary>
internal sealed class RequestStreamWriter<TRequest> : IClientStreamWriter<TRequest>, IMessageChunkSink
    where TRequest : class
{
    private static readonly Task<bool> s_dropped = Task.FromResult(false);

    private readonly ClientCall _call;
    private readonly Marshaller<TRequest> _marshaller;
    private readonly int? _limitBytes;
    private readonly Task<Connection?> _started;
    private readonly bool _isEncoded;
    private int _isWriting;
    private bool _isCompleted;

    /// <param name="call">The call.</param>
    /// <param name="marshaller">The marshaller of the requests.</param>
    /// <param name="limitBytes">The largest request, in bytes; null for no limit.</param>
    /// <param name="started">The connection that the call was started on; null if the call ended before.</param>
    /// <param name="isEncoded">Whether each request begins with a mark of its encoding.</param>
    public RequestStreamWriter(
        ClientCall call,
        Marshaller<TRequest> marshaller,
        int? limitBytes,
        Task<Connection?> started,
        bool isEncoded)
    {
        _call = call;
        _marshaller = marshaller;
        _limitBytes = limitBytes;
        _started = started;
        _isEncoded = isEncoded;
    }

    public WriteOptions? WriteOptions { get; set; }

    public Task WriteAsync(TRequest message) => WriteAsync(message, CancellationToken.None);

    public Task WriteAsync(TRequest message, CancellationToken cancellationToken)
    {
        if (message is null)
        {
            return Task.FromException(new ArgumentNullException(nameof(message)));
        }

        if (_call.IsDisposed)
        {
            return Task.FromException(new ObjectDisposedException(_call.GetType().FullName));
        }

        return cancellationToken.CanBeCanceled
            ? WriteCancellableAsync(message, cancellationToken)
            : WriteCore(message);
    }

    public Task CompleteAsync()
    {
        ObjectDisposedException.ThrowIf(_call.IsDisposed, _call);
        if (Interlocked.Exchange(ref _isWriting, 1) != 0)
        {
            return Task.FromException(new InvalidOperationException(
                "Can't complete the client stream writer because the previous write is in progress."));
        }

        bool isFirst = !_isCompleted;
        _isCompleted = true;
        Task completing = isFirst && !_call.IsOver ? HalfClose() : Task.CompletedTask;
        Volatile.Write(ref _isWriting, 0);
        return completing;
    }

    int IMessageChunkSink.SendPart(ReadOnlySpan<byte> part, int wholeLength) =>
        _started is { IsCompletedSuccessfully: true, Result: { } connection }
            ? connection.SendPart(_call, FrameFlags.None, part, wholeLength)
            : 0;

    private async Task WriteCancellableAsync(TRequest message, CancellationToken cancellationToken)
    {
        if (cancellationToken.IsCancellationRequested)
        {
            _call.Cancel(cancellationToken);
        }

        using CancellationTokenRegistration registration = cancellationToken.UnsafeRegister(
            static (call, by) => ((ClientCall)call!).Cancel(by), _call);
        await WriteCore(message).ConfigureAwait(false);
    }

    private Task WriteCore(TRequest message)
    {
        if (Interlocked.Exchange(ref _isWriting, 1) != 0)
        {
            return Task.FromException(new InvalidOperationException(
                "Can't write the message because the previous write is in progress."));
        }

        Task<bool> write = StartWrite(message);
        if (write.IsCompletedSuccessfully && write.Result)
        {
            Volatile.Write(ref _isWriting, 0);
            return write;
        }

        return FinishWriteAsync(write);
    }

    /// <summary>Starts a write. The task returns false if the message was dropped with its call.</summary>
    private Task<bool> StartWrite(TRequest message)
    {
        if (_isCompleted)
        {
            return Task.FromException<bool>(
                new InvalidOperationException("Request stream has already been completed."));
        }

        if (_call.IsOver)
        {
            return s_dropped;
        }

        FrameSerializationContext context;
        try
        {
            context = _isEncoded
                ? FrameSerializationContext.Serialize(EncodedMarshaller(), message, limitBytes: null, parts: this)
                : FrameSerializationContext.Serialize(_marshaller, message, _limitBytes, parts: this);
        }
        catch (Exception exception)
        {
            _call.Finish(StatusMapping.FromRequestFailure(exception), isCancel: true);
            return s_dropped;
        }

        using (context)
        {
            return _started.IsCompletedSuccessfully
                ? Send(_started.Result, context.Bytes)
                : SendWhenStartedAsync(TakeOver(context.Bytes));
        }
    }

    private Marshaller<TRequest> EncodedMarshaller() => MessageEncoding.Writing(
        _marshaller, MessageEncoding.MayCompress(WriteOptions), CompressionLevel.Fastest, _limitBytes);

    // The write of a sent message succeeds even if the call has ended meanwhile: the message itself may have ended it.
    // A refused write reports the server's status, even while earlier responses are unread. In that case Grpc.Core
    // reports success, and grpc-dotnet reports Cancelled for a call that was not cancelled.
    private async Task FinishWriteAsync(Task<bool> write)
    {
        try
        {
            if (!await write.ConfigureAwait(false))
            {
                throw _call.ToException();
            }
        }
        finally
        {
            Volatile.Write(ref _isWriting, 0);
        }
    }

    private Task<bool> Send(Connection? connection, PooledBufferWriter bytes) =>
        connection?.SendMessageAsync(_call, FrameFlags.None, bytes) ?? s_dropped;

    private async Task<bool> SendWhenStartedAsync(PooledBufferWriter bytes)
    {
        using (bytes)
        {
            return await Send(await _started.ConfigureAwait(false), bytes).ConfigureAwait(false);
        }
    }

    private Task HalfClose()
    {
        if (_started.IsCompletedSuccessfully)
        {
            _started.Result?.Send(_call, FrameKind.HalfClose, FrameFlags.None, default, default);
            return Task.CompletedTask;
        }

        return HalfCloseWhenStartedAsync();
    }

    private async Task HalfCloseWhenStartedAsync()
    {
        Connection? connection = await _started.ConfigureAwait(false);
        connection?.Send(_call, FrameKind.HalfClose, FrameFlags.None, default, default);
    }

    // The bytes lie in a context of this thread, so a later send needs a copy.
    private static PooledBufferWriter TakeOver(PooledBufferWriter bytes)
    {
        var own = new PooledBufferWriter();
        own.Write(bytes.WrittenSpan);
        return own;
    }
}
