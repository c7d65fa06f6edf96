using Grpc.Core;

namespace RpcOverShm.Calls;

/// <summary>A message that is not what its encoding says: the peer's doing, whoever reads it.</summary>
internal sealed class MessageEncodingException(Status status) : RpcException(status);
