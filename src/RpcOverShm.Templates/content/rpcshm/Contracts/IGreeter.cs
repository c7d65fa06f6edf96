using System.Runtime.Serialization;
using System.ServiceModel;
using ProtoBuf.Grpc;

namespace RpcShmNamespace;

/// <summary>The contract of the server.</summary>
[ServiceContract(Name = "rpcshm_name.Greeter")]
public interface IGreeter
{
    /// <summary>Greets a caller by its name.</summary>
    [OperationContract]
    Task<HelloReply> SayHelloAsync(HelloRequest request, CallContext context = default);
}

/// <summary>An operation has one message, and each member of it a number.</summary>
[DataContract]
public sealed class HelloRequest
{
    /// <summary>The name of the caller.</summary>
    [DataMember(Order = 1)]
    public string Name { get; set; } = "";
}

/// <summary>The answer.</summary>
[DataContract]
public sealed class HelloReply
{
    /// <summary>The greeting.</summary>
    [DataMember(Order = 1)]
    public string Message { get; set; } = "";
}
