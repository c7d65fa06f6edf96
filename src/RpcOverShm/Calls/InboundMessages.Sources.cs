using Grpc.Core;
using RpcOverShm.Buffers;
using RpcOverShm.Protocol;

namespace RpcOverShm.Calls;

/// <content>
/// Messages of a stream that come from a source: the source has a place in the queue, and the reader takes its messages
/// itself when it has come to that place.
/// </content>
internal sealed partial class InboundMessages
{
    // Each costs its peer two small frames, and this side some objects.
    private const int MostSources = 64;

    private MessageSource? _source; // the one that is read; changed by the reader, and by the thread that aborts
    private MessageSource? _openSource; // the last one, until the peer ends it
    private long _skipped;          // messages of earlier sources
    private int _sources;           // in the queue, or read

    /// <summary>The status that ends the call because messages of a source are gone; null for none.</summary>
    public Status? Failure => Volatile.Read(ref _source)?.Failure;

    /// <summary>The messages that sources have left out, because the reader was too slow.</summary>
    public long Skipped => Volatile.Read(ref _skipped) + (Volatile.Read(ref _source)?.Skipped ?? 0);

    /// <summary>Adds a source behind the messages that have come. Takes it over.</summary>
    /// <returns>The status that ends the call because of too many sources; null for none.</returns>
    /// <exception cref="ProtocolException">Messages have ended, one is incomplete, or another source has no end.
    /// </exception>
    public Status? Add(MessageSource source)
    {
        bool isTaken = false;
        try
        {
            using (_lock.Enter())
            {
                if (_isAborted || _isRefusing)
                {
                    return null;
                }

                CheckMayCome(isContinuation: false);
                if (_openSource is not null)
                {
                    throw new ProtocolException("The peer began a topic of a call before it ended the last.");
                }

                if (_sources == MostSources)
                {
                    _isRefusing = true;
                    return new Status(
                        StatusCode.ResourceExhausted,
                        $"The call has {MostSources} topics that were not read; no more are taken. Read its messages.");
                }

                _sources++;
                _openSource = source;
                _queuedBytes += ReceivedMessage.PieceBytes + BytesPerMessage;
                _queue.Enqueue((ReceivedMessage.From(source), 0));
                isTaken = true;
                RecordWake();
                return null;
            }
        }
        finally
        {
            if (!isTaken)
            {
                source.Dispose();
            }
        }
    }

    /// <summary>Ends the last source at a position.</summary>
    /// <exception cref="ProtocolException">No source is without an end.</exception>
    public void EndSource(long position)
    {
        MessageSource? source;
        using (_lock.Enter())
        {
            source = _openSource;
            _openSource = null;
            if (source is null && !_isAborted && !_isRefusing)
            {
                throw new ProtocolException("The peer ended a topic of a call that had not begun.");
            }
        }

        source?.EndAt(position);
        ((IMessageWaiter)this).OnMessages(); // the reader looks again
    }

    void IMessageWaiter.OnMessages()
    {
        using (_lock.Enter())
        {
            RecordWake();
        }
    }

    /// <summary>Takes the next message. Returns false if no complete message is there.</summary>
    public bool TryTake(out ReceivedMessage bytes)
    {
        while (true)
        {
            if (Volatile.Read(ref _source) is { } source)
            {
                if (source.TryTake(MaxMessageBytes, Hint, out bytes))
                {
                    return true;
                }

                if (!source.IsAtEnd)
                {
                    return false;
                }

                SetSource(null);
            }
            else if (!TryDequeue(out bytes))
            {
                return false;
            }
            else if (bytes.Source is { } next)
            {
                SetSource(next);
            }
            else
            {
                return true;
            }
        }
    }

    // Disposes the former one. After an abort there is none.
    private void SetSource(MessageSource? source)
    {
        MessageSource? useless;
        using (_lock.Enter())
        {
            _skipped += _source?.Skipped ?? 0;
            _sources -= _source is null ? 0 : 1;
            useless = _source;
            _source = _isAborted ? null : source;
            useless ??= _isAborted ? source : null;
        }

        useless?.Dispose();
    }

    // Under the lock. The call has failed before the peer has ended the source: its memory may not be kept for a reader
    // who may never come.
    private void DropOpenSource()
    {
        _openSource?.Dispose();
        _openSource = null;
    }
}
