using Google.Protobuf;
using RpcOverShm.Perf.Peer.Arms;

namespace RpcOverShm.Perf.Peer.Records;

/// <summary>What carries records there and back.</summary>
internal interface IRecordTransport
{
    /// <summary>The echo of one kind of record.</summary>
    /// <param name="shape">Makes the records.</param>
    /// <param name="sizeBytes">One of <see cref="RecordSizes"/>.</param>
    IEcho EchoOf<T>(RecordShape<T> shape, int sizeBytes)
        where T : class, IMessage<T>, new();
}
