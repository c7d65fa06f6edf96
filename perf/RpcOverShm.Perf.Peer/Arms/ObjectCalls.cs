using System.Buffers;
using System.Runtime.Serialization;
using System.Xml;

namespace RpcOverShm.Perf.Peer.Arms;

/// <summary>
/// The service of the arm with plain objects: data contracts in the binary form of XML, which is what WCF puts into its
/// pipe.
/// </summary>
internal static class ObjectCalls
{
    private static readonly DataContractSerializer s_serializer = new(typeof(ContractMessage));
    private static readonly Marshaller<ContractMessage> s_contract = new(Write, Read);

    [ThreadStatic]
    private static MemoryStream? s_stream;

    public static Method<ContractMessage, ContractMessage> EchoMethod { get; } =
        new(MethodType.Unary, "rpcovershm.perf.Object", "Echo", s_contract, s_contract);

    public static ServerServiceDefinition Bind() =>
        ServerServiceDefinition.CreateBuilder().AddMethod(EchoMethod, EchoAsync).Build();

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

    private static Task<ContractMessage> EchoAsync(ContractMessage request, ServerCallContext context)
    {
        ServedTally.CountRequest(request.Data);
        int size = EchoNumber.ReplyBytes(request.Data);
        if (size == LoadOrder.SameAsRequest)
        {
            return Task.FromResult(request);
        }

        var reply = new ContractMessage { Data = GC.AllocateUninitializedArray<byte>(size) };
        EchoNumber.FillReply(reply.Data, request.Data);
        return Task.FromResult(reply);
    }
}

/// <summary>A message as a plain object with a contract.</summary>
[DataContract(Name = "Message", Namespace = "")]
internal sealed class ContractMessage
{
    [DataMember]
    public byte[] Data { get; set; } = [];
}
