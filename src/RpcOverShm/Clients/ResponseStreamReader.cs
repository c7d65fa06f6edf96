using Grpc.Core;
using RpcOverShm.Buffers;
using RpcOverShm.Calls;

namespace RpcOverShm.Clients;

/// <summary>Reads the responses of a streaming call in order, one at a time.</summary>
internal sealed class ResponseStreamReader<TResponse>(
    StreamResponseCall<TResponse> call, InboundMessages inbound, Marshaller<TResponse> marshaller)
    : IAsyncStreamReader<TResponse>, ISkippingReader
    where TResponse : class
{
    private static readonly Task<bool> s_true = Task.FromResult(true);
    private static readonly Task<bool> s_false = Task.FromResult(false);

    private int _isReading;
    private bool _isTaking;

    public TResponse Current { get; private set; } = null!;

    /// <summary>The messages of a topic that were left out, because this reader was too slow.</summary>
    public long Skipped => inbound.Skipped;

    /// <summary>Whether a message that was taken may still prove to be unreadable.</summary>
    public bool IsTaking => Volatile.Read(ref _isTaking);

    public Task<bool> MoveNext(CancellationToken cancellationToken)
    {
        ObjectDisposedException.ThrowIf(call.IsDisposed, call);
        if (Interlocked.Exchange(ref _isReading, 1) != 0)
        {
            // As in grpc-dotnet: a call that has ended reports its end, even while another read is about to report it.
            return call.IsFinished ? ReadEnd() : Task.FromException<bool>(new InvalidOperationException(
                "Can't read the next message because the previous read is still in progress."));
        }

        if (cancellationToken.IsCancellationRequested)
        {
            call.Cancel(cancellationToken);
        }

        Task<bool> read = TryRead() ?? ReadLaterAsync(cancellationToken);
        if (read.IsCompleted)
        {
            Volatile.Write(ref _isReading, 0);
            return read;
        }

        if (call.YieldingParent is { } parent)
        {
            parent.YieldInstance();
            return parent.ReenterAfterAsync(read);
        }

        return read;
    }

    private async Task<bool> ReadLaterAsync(CancellationToken cancellationToken)
    {
        Current = null!;
        try
        {
            using (cancellationToken.UnsafeRegister(CallPresentation.Cancel, call))
            {
                while (true)
                {
                    // The wait needs no token: the user's token cancels the whole call, which ends the wait.
                    await inbound.WaitAsync(CancellationToken.None).ConfigureAwait(false);
                    if (TryRead() is { } read)
                    {
                        return await read.ConfigureAwait(false);
                    }
                }
            }
        }
        finally
        {
            Volatile.Write(ref _isReading, 0);
        }
    }

    /// <summary>Reads the next message or the end. Returns null if neither has arrived.</summary>
    private Task<bool>? TryRead()
    {
        // Set before TryTake enters the lock of the messages: a thread that finds the queue empty also sees this flag.
        Volatile.Write(ref _isTaking, true);
        Task<bool>? read = TryTake();
        Volatile.Write(ref _isTaking, false);
        if (read is not null)
        {
            return read;
        }

        if (!call.IsFinished)
        {
            if (!inbound.IsAtEnd)
            {
                return null;
            }

            call.FinishAtEnd();
        }

        Current = null!;
        return ReadEnd();
    }

    private Task<bool> ReadEnd()
    {
        call.EndObservation();
        return call.Status.StatusCode == StatusCode.OK ? s_false : Task.FromException<bool>(call.ToException());
    }

    /// <summary>Takes the next message. Returns null without one, or if an unreadable one ended the call.</summary>
    private Task<bool>? TryTake()
    {
        if (!call.IsFinished && inbound.TryTake(out ReceivedMessage bytes))
        {
            try
            {
                if (FrameDeserializationContext.Deserialize(call.WithDecoding(marshaller), ref bytes) is { } message)
                {
                    Current = message;
                    return s_true;
                }

                call.Finish(new Status(StatusCode.Internal, StatusMapping.ResponseUnreadableDetail), isCancel: true);
            }
            catch (Exception exception)
            {
                call.Finish(StatusMapping.FromUnreadableResponse(exception), isCancel: true);
            }
        }

        if (inbound.Failure is { } failure)
        {
            call.Finish(failure, isCancel: true);
        }

        return null;
    }
}
