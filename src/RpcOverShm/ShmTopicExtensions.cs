using RpcOverShm.Calls;

namespace Grpc.Core;

/// <summary>Access to what a client knows of the topic that its stream reads.</summary>
/// <remarks>Thread-safe.</remarks>
public static class ShmTopicExtensions
{
    /// <summary>
    /// Gets the number of messages that the stream has left out, because this client was too slow
    /// (<see cref="RpcOverShm.ShmSlowSubscriber.Skip"/>).
    /// </summary>
    /// <param name="stream">The response stream of a call.</param>
    /// <returns>
    /// The number; 0 if there is none, for a stream that an interceptor wraps, and for one whose messages come one by
    /// one: then only the trailer <c>rpcovershm-topic-skipped</c> has it.
    /// </returns>
    /// <exception cref="ArgumentNullException">The stream is null.</exception>
    public static long GetSkippedMessages<T>(this IAsyncStreamReader<T> stream)
    {
        ArgumentNullException.ThrowIfNull(stream);
        return stream is ISkippingReader reader ? reader.Skipped : 0;
    }
}
