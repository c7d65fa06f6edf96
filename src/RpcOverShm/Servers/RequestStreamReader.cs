using Grpc.Core;
using RpcOverShm.Buffers;
using RpcOverShm.Calls;

namespace RpcOverShm.Servers;

/// <summary>Reads the request stream of a call, one read at a time.</summary>
internal sealed class RequestStreamReader<TRequest>(ServerCall call, Marshaller<TRequest> marshaller)
    : IAsyncStreamReader<TRequest>
    where TRequest : class
{
    private const string IsCompleteText = "Can't read messages after the request is complete.";

    private static readonly Task<bool> s_true = Task.FromResult(true);
    private static readonly Task<bool> s_false = Task.FromResult(false);

    private readonly RequestMessages _requests = call.Requests!;
    private readonly InboundMessages _inbound = call.Requests!.Inbound;
    private int _isReading;

    public TRequest Current { get; private set; } = null!;

    public Task<bool> MoveNext(CancellationToken cancellationToken)
    {
        if (cancellationToken.IsCancellationRequested)
        {
            return Task.FromCanceled<bool>(cancellationToken);
        }

        if (call.IsEnded)
        {
            // Only a read that was already waiting when the call ended fails as cancelled.
            return Task.FromException<bool>(new InvalidOperationException(IsCompleteText));
        }

        if (Interlocked.Exchange(ref _isReading, 1) != 0)
        {
            return Task.FromException<bool>(new InvalidOperationException(
                "Can't read the next message because the previous read is still in progress."));
        }

        Task<bool> read = TryRead() ?? ReadLaterAsync(cancellationToken);
        if (read.IsCompleted)
        {
            Volatile.Write(ref _isReading, 0);
        }

        return read;
    }

    private async Task<bool> ReadLaterAsync(CancellationToken cancellationToken)
    {
        try
        {
            while (true)
            {
                // The token cancels this read, not the call.
                await _inbound.WaitAsync(cancellationToken).ConfigureAwait(false);
                if (_requests.IsReadToEnd)
                {
                    // The client half-closed before the call ended, so this is the regular end of the stream.
                    Current = null!;
                    return false;
                }

                if (TryRead() is { } read)
                {
                    return await read.ConfigureAwait(false);
                }
            }
        }
        finally
        {
            Volatile.Write(ref _isReading, 0);
        }
    }

    /// <summary>Tries to read a message or the end of the stream. Returns null if neither has arrived.</summary>
    private Task<bool>? TryRead()
    {
        if (!call.IsEnded && _inbound.TryTake(out ReceivedMessage bytes))
        {
            try
            {
                Current = FrameDeserializationContext.Deserialize(marshaller, ref bytes);
                return s_true;
            }
            catch (Exception exception)
            {
                return Task.FromException<bool>(exception);
            }
        }

        if (!call.IsEnded && !_inbound.IsAtEnd)
        {
            return null;
        }

        Current = null!;
        if (!call.IsEnded)
        {
            return s_false;
        }

        // An end of the call must not look like the client's half-close.
        return Task.FromException<bool>(
            call.IsStopped ? call.CreateStoppedException() : new InvalidOperationException(IsCompleteText));
    }
}
