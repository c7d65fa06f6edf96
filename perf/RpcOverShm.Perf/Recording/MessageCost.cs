using System.Buffers;
using Google.Protobuf;
using RpcOverShm.Testing.Protos;

namespace RpcOverShm.Perf.Recording;

/// <summary>
/// The allocations of an echo's messages with any transport, measured in this process, which runs on the same runtime.
/// The client makes a request that shares its bytes, and parses the answer; the server parses the request and answers
/// with it.
/// </summary>
internal static class MessageCost
{
    private const int Times = 1000;

    public static double ClientBytes(int sizeBytes)
    {
        byte[] bytes = new byte[sizeBytes];
        return ServerBytes(sizeBytes)
            + Measure(() => new Payload { Data = UnsafeByteOperations.UnsafeWrap(bytes) });
    }

    public static double ServerBytes(int sizeBytes)
    {
        byte[] bytes = new Payload { Data = UnsafeByteOperations.UnsafeWrap(new byte[sizeBytes]) }.ToByteArray();
        var sequence = new ReadOnlySequence<byte>(bytes);
        return Measure(() => Payload.Parser.ParseFrom(sequence));
    }

    private static double Measure(Func<Payload> make)
    {
        make();
        long before = GC.GetAllocatedBytesForCurrentThread();
        for (int i = 0; i < Times; i++)
        {
            make();
        }

        return (GC.GetAllocatedBytesForCurrentThread() - before) / (double)Times;
    }
}
