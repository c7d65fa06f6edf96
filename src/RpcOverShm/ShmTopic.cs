using Grpc.Core;
using RpcOverShm.Buffers;
using RpcOverShm.Calls;
using RpcOverShm.Diagnostics;
using RpcOverShm.Scheduling;
using RpcOverShm.Topics;

namespace RpcOverShm;

/// <summary>
/// Messages for any number of clients, each serialised and written once: the clients map the memory of the topic and
/// read them there.
/// </summary>
/// <typeparam name="T">The messages: the responses of server-streaming or duplex methods.</typeparam>
/// <remarks>
/// <para>
/// A method of a service returns the task of <see cref="SubscribeAsync"/>. Its clients keep their generated stubs: for
/// them it is a stream like any other, with deadlines, cancellation and status. A topic belongs to no server; methods
/// of several may read it.
/// </para>
/// <para>
/// The messages are written to a client's stream one by one, as by any method, if it does not map the topic: a client
/// of another transport (the same method works in ASP.NET Core), one whose <see cref="ShmChannelOptions.MaxTopicSize"/>
/// is used up, one on Windows or before Linux 5.1; for calls of a server to services of its client; and for calls with
/// compression, calls that the server's message inspectors see, and response streams that an interceptor wraps. A
/// message must not be changed or disposed after it was published, because these subscribers get it later.
/// </para>
/// <para>
/// Who may call a method that reads a topic can read all messages in the topic's memory. For a selection, or for
/// secrets of some clients, use a topic for each.
/// </para>
/// <para>Thread-safe. Dispose it when nothing more is to be published: that ends its streams with OK.</para>
/// </remarks>
public sealed partial class ShmTopic<T> : IDisposable
    where T : class
{
    private readonly UninterruptibleLock _lock = new();
    private readonly ShmTopicOptions _options;
    private readonly TopicMessages<T> _messages;
    private Form[] _forms = []; // one for each codec that was used
    private int _streams; // that read the topic, or are about to
    private Status? _end;

    /// <summary>Creates a topic without subscribers. It needs no memory before the first one.</summary>
    /// <param name="options">The sizes; null for the defaults.</param>
    /// <exception cref="ArgumentException">An option is not allowed.</exception>
    public ShmTopic(ShmTopicOptions? options = null)
    {
        options ??= new ShmTopicOptions();
        options.Check();
        _options = new ShmTopicOptions
        {
            Capacity = options.Capacity,
            MaxMessages = options.MaxMessages,
            MaxSubscribers = options.MaxSubscribers,
        };
        _messages = new TopicMessages<T>(_options.MaxMessages);
    }

    /// <summary>Gets the number of streams that read the topic now: they get what is published from now on.</summary>
    public int Subscribers =>
        Volatile.Read(ref _forms).Sum(static form => form.Ring.Subscribers) + _messages.Subscribers;

    /// <summary>
    /// Publishes a message. Blocks while a subscriber that the publisher waits for is too slow: at most for its
    /// <see cref="ShmSubscribeOptions.MaxWait"/>.
    /// </summary>
    /// <param name="message">The message. Without subscribers it is dropped, and not even serialised.</param>
    /// <exception cref="ArgumentNullException">The message is null.</exception>
    /// <exception cref="ObjectDisposedException">The topic has ended.</exception>
    /// <exception cref="RpcException">
    /// <see cref="StatusCode.ResourceExhausted"/>: the message is larger than a quarter of
    /// <see cref="ShmTopicOptions.Capacity"/>, or than MaxSendMessageSize of the server. No client that maps the topic
    /// with the same codec gets it; others may. A stream whose messages are written one by one ends by such a message.
    /// </exception>
    public void Publish(T message)
    {
        ArgumentNullException.ThrowIfNull(message);
        if (MustWrite())
        {
            Write(message, isLast: true);
        }
    }

    /// <summary>Publishes messages; subscribers are woken once for all of them. Blocks as for one.</summary>
    /// <param name="messages">The messages, in their order.</param>
    /// <exception cref="ArgumentNullException">The list or a message is null.</exception>
    /// <exception cref="ObjectDisposedException">The topic has ended.</exception>
    /// <exception cref="RpcException">As for one message. Those before it were published.</exception>
    public void Publish(IEnumerable<T> messages)
    {
        ArgumentNullException.ThrowIfNull(messages);
        try
        {
            foreach (T message in messages)
            {
                ArgumentNullException.ThrowIfNull(message, nameof(messages));
                if (MustWrite())
                {
                    Write(message, isLast: false);
                }
            }
        }
        finally
        {
            Flush();
        }
    }

    /// <summary>Publishes a message as <see cref="Publish(T)"/> does, without blocking.</summary>
    /// <param name="message">The message.</param>
    /// <param name="cancellationToken">
    /// Ends the wait for slow subscribers. Those that were not slow may have got the message.
    /// </param>
    /// <returns>A task that ends when the message is written for all subscribers.</returns>
    /// <exception cref="ArgumentNullException">The message is null.</exception>
    /// <exception cref="ObjectDisposedException">The topic has ended.</exception>
    /// <exception cref="OperationCanceledException">The token was cancelled.</exception>
    /// <exception cref="RpcException">As for <see cref="Publish(T)"/>.</exception>
    public ValueTask PublishAsync(T message, CancellationToken cancellationToken = default)
    {
        ArgumentNullException.ThrowIfNull(message);
        cancellationToken.ThrowIfCancellationRequested();
        return MustWrite() ? WriteAsync(message, isLast: true, cancellationToken) : ValueTask.CompletedTask;
    }

    /// <summary>Publishes messages as <see cref="Publish(IEnumerable{T})"/> does, without blocking.</summary>
    /// <param name="messages">The messages, in their order.</param>
    /// <param name="cancellationToken">Ends the wait for slow subscribers, and leaves the rest out.</param>
    /// <exception cref="ArgumentNullException">The list or a message is null.</exception>
    /// <exception cref="ObjectDisposedException">The topic has ended.</exception>
    /// <exception cref="OperationCanceledException">The token was cancelled.</exception>
    /// <exception cref="RpcException">As for one message. Those before it were published.</exception>
    public async ValueTask PublishAsync(IEnumerable<T> messages, CancellationToken cancellationToken = default)
    {
        ArgumentNullException.ThrowIfNull(messages);
        try
        {
            foreach (T message in messages)
            {
                ArgumentNullException.ThrowIfNull(message, nameof(messages));
                cancellationToken.ThrowIfCancellationRequested();
                if (MustWrite())
                {
                    await WriteAsync(message, isLast: false, cancellationToken).ConfigureAwait(false);
                }
            }
        }
        finally
        {
            Flush();
        }
    }

    /// <summary>Ends the topic: its streams end with a status when they have got all messages.</summary>
    /// <param name="status">The status.</param>
    public void Complete(Status status)
    {
        Form[] forms;
        using (_lock.Enter())
        {
            if (_end is not null)
            {
                return;
            }

            _end = status;
            forms = _forms;
        }

        Array.ForEach(forms, form => form.Ring.End(status));
        _messages.End(status);
    }

    /// <summary>Ends the topic with OK.</summary>
    public void Dispose() => Complete(Status.DefaultSuccess);

    private bool MustWrite()
    {
        ObjectDisposedException.ThrowIf(_end is not null, this);
        if (Volatile.Read(ref _streams) == 0)
        {
            return false;
        }

        ProcessCounts.TopicMessages.Add();
        return true;
    }

    private void Write(T message, bool isLast)
    {
        foreach (Form form in Volatile.Read(ref _forms))
        {
            if (form.Ring.Subscribers > 0)
            {
                using FrameSerializationContext bytes = form.Serialize(message);
                if (!form.Ring.TryWrite(bytes.Bytes.WrittenMemory, isLast))
                {
                    LoopThread.LeaveLoopBeforeSleep();
                    form.Ring.WriteLater(bytes.Bytes.WrittenMemory);
                }
            }
        }

        if (_messages.Subscribers > 0 && !_messages.TryWrite(message, isLast))
        {
            LoopThread.LeaveLoopBeforeSleep();
            _messages.WriteLater(message);
        }
    }

    private ValueTask WriteAsync(T message, bool isLast, CancellationToken cancellationToken)
    {
        List<Task>? slow = null;
        foreach (Form form in Volatile.Read(ref _forms))
        {
            if (form.Ring.Subscribers > 0)
            {
                using FrameSerializationContext bytes = form.Serialize(message);
                if (!form.Ring.TryWrite(bytes.Bytes.WrittenMemory, isLast))
                {
                    byte[] array = bytes.Bytes.Detach(out int length);
                    (slow ??= []).Add(form.WriteLaterAsync(array, length, cancellationToken));
                }
            }
        }

        if (_messages.Subscribers > 0 && !_messages.TryWrite(message, isLast))
        {
            (slow ??= []).Add(_messages.WriteLaterAsync(message, cancellationToken));
        }

        return slow is null ? ValueTask.CompletedTask : new ValueTask(Task.WhenAll(slow));
    }

    private void Flush()
    {
        Array.ForEach(Volatile.Read(ref _forms), static form => form.Ring.Publish());
        _messages.Publish();
    }

    // The messages as one codec writes them.
    private sealed record Form(Marshaller<T> Marshaller, TopicRing Ring, int? MaxSendBytes)
    {
        public FrameSerializationContext Serialize(T message)
        {
            FrameSerializationContext bytes;
            try
            {
                bytes = FrameSerializationContext.Serialize(Marshaller, message, MaxSendBytes, parts: null);
            }
            catch (MessageTooLargeException exception)
            {
                throw new RpcException(new Status(
                    StatusCode.ResourceExhausted,
                    $"{exception.Message} The option is that of the server whose clients read the topic."));
            }

            if (bytes.Length > Ring.LargestMessage)
            {
                long length = bytes.Length;
                bytes.Dispose();
                throw new RpcException(new Status(
                    StatusCode.ResourceExhausted,
                    $"A message of {length} bytes is too large for its topic: the largest one has "
                    + $"{Ring.LargestMessage} bytes, a quarter of Capacity of ShmTopicOptions."));
            }

            return bytes;
        }

        public async Task WriteLaterAsync(byte[] array, int length, CancellationToken cancellationToken)
        {
            try
            {
                await Ring.WriteLaterAsync(array.AsMemory(0, length), cancellationToken).ConfigureAwait(false);
            }
            finally
            {
                ByteArrays.Return(array);
            }
        }
    }
}
