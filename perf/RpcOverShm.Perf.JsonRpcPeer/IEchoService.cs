using PolyType;
using StreamJsonRpc;

namespace RpcOverShm.Perf.JsonRpcPeer;

/// <summary>The service, as StreamJsonRpc makes its client of it.</summary>
[JsonRpcContract]
[GenerateShape(IncludeMethods = MethodShapeFlags.PublicInstance)]
internal partial interface IEchoService
{
    Task<byte[]> EchoAsync(byte[] message);
}
