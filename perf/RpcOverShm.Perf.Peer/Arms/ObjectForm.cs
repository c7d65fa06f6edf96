using System.Buffers;
using System.Runtime.Serialization;
using System.Xml;

namespace RpcOverShm.Perf.Peer.Arms;

/// <summary>
/// Plain objects: data contracts in the binary form of XML, as WCF sends them through its pipe. It shows what a service
/// pays that keeps its data contracts.
/// </summary>
internal sealed class ObjectForm : MessageForm<ContractMessage>
{
    private static readonly DataContractSerializer s_serializer = new(typeof(ContractMessage));

    [ThreadStatic]
    private static MemoryStream? s_stream;

    public override Marshaller<ContractMessage> Marshaller { get; } = new(Write, Read);

    public override ContractMessage Make(byte[] bytes) => new() { Data = bytes };

    public override ReadOnlySpan<byte> BytesOf(ContractMessage message, ref byte[] scratch) => message.Data;

    private static void Write(ContractMessage message, SerializationContext context)
    {
        MemoryStream stream = s_stream ??= new MemoryStream();
        stream.SetLength(0);
        using (var writer = XmlDictionaryWriter.CreateBinaryWriter(stream, null, null, ownsStream: false))
        {
            s_serializer.WriteObject(writer, message);
        }

        context.SetPayloadLength((int)stream.Length);
        context.GetBufferWriter().Write(stream.GetBuffer().AsSpan(0, (int)stream.Length));
        context.Complete();
    }

    private static ContractMessage Read(DeserializationContext context)
    {
        byte[] bytes = context.PayloadAsNewBuffer();
        using var reader = XmlDictionaryReader.CreateBinaryReader(bytes, XmlDictionaryReaderQuotas.Max);
        return (ContractMessage)s_serializer.ReadObject(reader)!;
    }
}

/// <summary>A message as a plain object with a data contract.</summary>
[DataContract(Name = "Message", Namespace = "")]
internal sealed class ContractMessage
{
    [DataMember]
    public byte[] Data { get; set; } = [];
}
