using System.Buffers;

namespace RpcOverShm.Perf.Peer.Recording;

/// <summary>
/// Counts the messages that the server of this process has served, and the wrong bytes in them. Thread-safe.
/// </summary>
internal static class ServedTally
{
    private static long s_messages;
    private static long s_wrongBytes;

    /// <summary>Messages served so far: echoed, or sent by a pump.</summary>
    public static long Messages => Interlocked.Read(ref s_messages);

    /// <summary>Bytes so far that differ from the client's pattern.</summary>
    public static long WrongBytes => Interlocked.Read(ref s_wrongBytes);

    /// <summary>
    /// Counts a message before its answer goes out, so that a client with the answer finds it counted.
    /// </summary>
    public static void Count(long wrongBytes)
    {
        Interlocked.Increment(ref s_messages);
        if (wrongBytes != 0)
        {
            Interlocked.Add(ref s_wrongBytes, wrongBytes);
        }
    }

    /// <summary>Checks every byte of a request that will be echoed, and counts it.</summary>
    public static void CountRequest(in ReadOnlySequence<byte> payload) => Count(PayloadPattern.CountWrong(payload));

    /// <inheritdoc cref="CountRequest(in ReadOnlySequence{byte})"/>
    public static void CountRequest(ReadOnlySpan<byte> payload) => Count(PayloadPattern.CountWrong(payload));
}
