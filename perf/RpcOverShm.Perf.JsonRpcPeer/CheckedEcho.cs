using PolyType;
using StreamJsonRpc;

namespace RpcOverShm.Perf.JsonRpcPeer;

/// <summary>The server's side: what comes in is checked, what goes out can be.</summary>
internal sealed class CheckedEcho : IEchoService
{
    public Task<byte[]> EchoAsync(byte[] message)
    {
        ServedTally.CountRequest(message);
        int size = EchoNumber.ReplyBytes(message);
        if (size == LoadOrder.SameAsRequest)
        {
            return Task.FromResult(message);
        }

        byte[] reply = GC.AllocateUninitializedArray<byte>(size);
        EchoNumber.FillReply(reply, message);
        return Task.FromResult(reply);
    }
}

/// <summary>The service, as StreamJsonRpc makes its client of it.</summary>
[JsonRpcContract]
[GenerateShape(IncludeMethods = MethodShapeFlags.PublicInstance)]
internal partial interface IEchoService
{
    Task<byte[]> EchoAsync(byte[] message);
}
