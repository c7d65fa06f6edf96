using System.Runtime.Serialization;

namespace RpcOverShm.Perf.Peer.Arms;

/// <summary>A message as a plain object with a contract.</summary>
[DataContract(Name = "Message", Namespace = "")]
internal sealed class ContractMessage
{
    [DataMember]
    public byte[] Data { get; set; } = [];
}
