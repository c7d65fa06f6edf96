using Grpc.Core;
using RpcOverShm.Calls;

namespace RpcOverShm;

/// <summary>A public codec as the calls see it.</summary>
internal sealed class CodecMarshallers(ShmCodec codec, string name) : MarshallerProvider
{
    public override string Name => name;

    public override Marshaller<T>? TryReplace<T>(Marshaller<T> generated) => codec.CreateMarshaller(generated);
}
