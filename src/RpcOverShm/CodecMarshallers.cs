using Grpc.Core;
using RpcOverShm.Calls;

namespace RpcOverShm;

/// <summary>Presents a <see cref="ShmCodec"/> as the <see cref="MarshallerProvider"/> that calls use.</summary>
internal sealed class CodecMarshallers(ShmCodec codec, string name) : MarshallerProvider
{
    public override string Name => name;

    public override Marshaller<T>? TryReplace<T>(Marshaller<T> generated) => codec.CreateMarshaller(generated);
}
