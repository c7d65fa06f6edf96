using System.Diagnostics.CodeAnalysis;
using Grpc.Core;
using Microsoft.Extensions.Logging;
using Microsoft.Extensions.Logging.Abstractions;
using RpcOverShm.Calls;
using RpcOverShm.Diagnostics;
using RpcOverShm.Protocol;
using RpcOverShm.Servers;
using RpcOverShm.Systems;
using RpcOverShm.Topics;

namespace RpcOverShm;

/// <content>The streams that read the topic.</content>
public sealed partial class ShmTopic<T>
{
    private const string SubscribersOption = nameof(ShmTopicOptions) + "." + nameof(ShmTopicOptions.MaxSubscribers);

    /// <summary>
    /// Lets a response stream read the topic, until the client ends the call, the topic ends, or the client is too
    /// slow. A method returns this task, or awaits it: messages that it writes before and after are in their order. The
    /// client has the response headers when the subscription has begun.
    /// </summary>
    /// <param name="responseStream">The stream of the call. It must not be written to meanwhile.</param>
    /// <param name="context">The context of the call.</param>
    /// <param name="options">How the stream reads; null for the defaults.</param>
    /// <returns>A task that ends with the topic.</returns>
    /// <exception cref="ArgumentNullException">The stream or the context is null.</exception>
    /// <exception cref="ArgumentException">An option is not allowed.</exception>
    /// <exception cref="OperationCanceledException">
    /// The call has ended: the client has left, or the deadline has passed.
    /// </exception>
    /// <exception cref="InvalidOperationException">
    /// A message of the call is being written, or its method has ended.
    /// </exception>
    /// <exception cref="RpcException">
    /// The status with which the topic was completed, or that of a slow client
    /// (<see cref="ShmSlowSubscriber"/>); <see cref="StatusCode.ResourceExhausted"/>: the topic has
    /// <see cref="ShmTopicOptions.MaxSubscribers"/>.
    /// </exception>
    public async Task SubscribeAsync(
        IServerStreamWriter<T> responseStream, ServerCallContext context, ShmSubscribeOptions? options = null)
    {
        ArgumentNullException.ThrowIfNull(responseStream);
        ArgumentNullException.ThrowIfNull(context);
        options ??= ShmSubscribeOptions.Default;
        options.Check();
        Enter(ShmServerCallContext.CallOf(context)?.Settings.Logger ?? NullLogger.Instance, context.Peer);
        try
        {
            if (responseStream is not ResponseStreamWriter<T> { TopicMarshaller: { } marshaller } writer
                || await TryMapAsync(writer, marshaller, options).ConfigureAwait(false) is not { } end)
            {
                end = await WriteMessagesAsync(responseStream, context, options).ConfigureAwait(false);
            }

            context.CancellationToken.ThrowIfCancellationRequested();
            if (end.StatusCode != StatusCode.OK)
            {
                throw new RpcException(end);
            }
        }
        catch (InvalidOperationException) when (context.CancellationToken.IsCancellationRequested)
        {
            throw new OperationCanceledException(context.CancellationToken); // a write to a client that has left
        }
        finally
        {
            Interlocked.Decrement(ref _streams);
            ProcessCounts.TopicSubscribers.Remove();
        }
    }

    private void Enter(ILogger logger, string peer)
    {
        if (Interlocked.Increment(ref _streams) <= _options.MaxSubscribers)
        {
            ProcessCounts.TopicSubscribers.Add();
            return;
        }

        Interlocked.Decrement(ref _streams);
        LimitEvents.Reached(
            logger, SubscribersOption, _options.MaxSubscribers, $"{peer}: a subscriber of a topic was refused.");
        throw new RpcException(new Status(
            StatusCode.ResourceExhausted,
            $"The topic has {_options.MaxSubscribers} subscribers, which is {SubscribersOption}. Try again later."));
    }

    // Lets the client read the memory of the topic. Returns null if it does not map it, else the end.
    private async Task<Status?> TryMapAsync(
        ResponseStreamWriter<T> writer, Marshaller<T> marshaller, ShmSubscribeOptions options)
    {
        ServerCall call = writer.Call;
        if (call.Owner.Connection.PassedTopics is not { } client
            || !TryGetForm(marshaller, call, out Form? form)
            || client.Pass(form.Ring.Segment) is not { } passed)
        {
            return null;
        }

        try
        {
            if (!await passed.Answer.WaitAsync(call.CancellationToken).ConfigureAwait(false))
            {
                return null;
            }

            var subscription = new TopicSubscription((TopicSlowness)options.SlowSubscriber, options.MaxWait, client);
            return await ReadRingAsync(writer, form.Ring, passed, subscription, options).ConfigureAwait(false);
        }
        finally
        {
            client.Release(passed);
        }
    }

    private async Task<Status> ReadRingAsync(
        ResponseStreamWriter<T> writer,
        TopicRing ring,
        PassedTopic passed,
        TopicSubscription subscription,
        ShmSubscribeOptions options)
    {
        ServerCall call = writer.Call;
        using IDisposable writing = writer.BeginTopic();
        if (!ring.TryAdd(subscription, options.Start == ShmTopicStart.Oldest))
        {
            return _end!.Value;
        }

        try
        {
            call.BeginTopic(ring, passed, subscription);
            return await subscription.Ended.WaitAsync(call.CancellationToken).ConfigureAwait(false);
        }
        finally
        {
            // Awaited, so that the client is not told that the topic is dropped before it has got its frames.
            await call.EndTopicAsync(ring.Remove(subscription)).ConfigureAwait(false);
        }
    }

    private bool TryGetForm(Marshaller<T> marshaller, ServerCall call, [NotNullWhen(true)] out Form? form)
    {
        using (_lock.Enter())
        {
            form = Array.Find(_forms, one => one.Marshaller == marshaller);
            if (form is not null || _end is not null)
            {
                return form is not null;
            }

            try
            {
                form = new Form(marshaller, new TopicRing(_options.Capacity), call.Settings.MaxSendMessageBytes);
            }
            catch (SegmentException exception)
            {
                string reason = exception.Message;
                DeferredLog.Write(call.Settings.Logger, log => ShmLog.TopicNotShared(log, reason));
                return false;
            }

            Volatile.Write(ref _forms, [.. _forms, form]);
            return true;
        }
    }

    // Writes each message to the stream, as any method would.
    private async Task<Status> WriteMessagesAsync(
        IServerStreamWriter<T> stream, ServerCallContext context, ShmSubscribeOptions options)
    {
        var subscription = new TopicSubscription((TopicSlowness)options.SlowSubscriber, options.MaxWait, client: null);
        if (!_messages.TryAdd(subscription, options.Start == ShmTopicStart.Oldest))
        {
            return _end!.Value;
        }

        long skipped = 0;
        try
        {
            await SendHeadersAsync(context).ConfigureAwait(false);
            while (true)
            {
                T? message = _messages.TryRead(subscription, out long lost, out Task news);
                if (lost > 0 && options.SlowSubscriber == ShmSlowSubscriber.Wait)
                {
                    // Nobody passes one that is waited for, so the publisher has ended it.
                    return await subscription.Ended.ConfigureAwait(false);
                }

                skipped += lost;
                if (lost > 0 && options.SlowSubscriber == ShmSlowSubscriber.End)
                {
                    return TopicStream.Lost(skipped);
                }

                if (message is not null)
                {
                    if (await WriteAsync(stream, message, subscription).ConfigureAwait(false) is { } end)
                    {
                        return end;
                    }
                }
                else if (subscription.Ended.IsCompleted)
                {
                    return await subscription.Ended.ConfigureAwait(false);
                }
                else
                {
                    Task any = Task.WhenAny(news, subscription.Ended);
                    await any.WaitAsync(context.CancellationToken).ConfigureAwait(false);
                }
            }
        }
        finally
        {
            _messages.Remove(subscription);
            if (skipped > 0)
            {
                context.ResponseTrailers.Add(SkippedTrailer.Of(skipped));
            }
        }
    }

    // Returns the status of a subscriber that has ended because its client does not read; else null.
    private async Task<Status?> WriteAsync(IServerStreamWriter<T> stream, T message, TopicSubscription subscription)
    {
        Task write = stream.WriteAsync(message);
        if (!write.IsCompleted
            && await Task.WhenAny(write, subscription.Ended).ConfigureAwait(false) == subscription.Ended
            && subscription.IsTooSlow)
        {
            _ = write.Observed(); // the end of the call ends it
            return await subscription.Ended.ConfigureAwait(false);
        }

        await write.ConfigureAwait(false);
        _messages.OnRead(subscription, subscription.Position + 1);
        return null;
    }

    private static async Task SendHeadersAsync(ServerCallContext context)
    {
        try
        {
            await context.WriteResponseHeadersAsync(Metadata.Empty).ConfigureAwait(false);
        }
        catch (InvalidOperationException)
        {
            // The method has sent them, or a message; or the call has ended, which the first write finds.
        }
    }
}
