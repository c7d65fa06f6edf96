namespace RpcOverShm.Perf.Peer.Arms;

/// <summary>
/// The service of the gRPC arms without a serialiser: the messages are arrays of bytes, handed to the transport and
/// taken from it as they are.
/// </summary>
internal static class RawCalls
{
    private const string Service = "rpcovershm.perf.Raw";

    // The codec's, which works over every transport; it looks at no other marshaller.
    private static readonly Marshaller<byte[]> s_bytes =
        ShmRawCodec.Instance.CreateMarshaller(Marshallers.Create<byte[]>(bytes => bytes, bytes => bytes))!;

    public static Method<byte[], byte[]> EchoMethod { get; } = new(MethodType.Unary, Service, "Echo", s_bytes, s_bytes);

    public static Method<byte[], byte[]> PumpMethod { get; } =
        new(MethodType.ServerStreaming, Service, "Pump", s_bytes, s_bytes);

    public static Method<byte[], byte[]> DrainMethod { get; } =
        new(MethodType.ClientStreaming, Service, "Drain", s_bytes, s_bytes);

    public static ServerServiceDefinition Bind() => ServerServiceDefinition.CreateBuilder()
        .AddMethod(EchoMethod, EchoAsync)
        .AddMethod(PumpMethod, PumpAsync)
        .AddMethod(DrainMethod, DrainAsync)
        .Build();

    private static Task<byte[]> EchoAsync(byte[] request, ServerCallContext context)
    {
        ServedTally.CountRequest(request);
        int size = EchoNumber.ReplyBytes(request);
        if (size == LoadOrder.SameAsRequest)
        {
            return Task.FromResult(request);
        }

        byte[] reply = GC.AllocateUninitializedArray<byte>(size);
        EchoNumber.FillReply(reply, request);
        return Task.FromResult(reply);
    }

    private static async Task PumpAsync(byte[] order, IServerStreamWriter<byte[]> writer, ServerCallContext context)
    {
        (long count, int size) = ByteStreamServer.Parse(order);
        using var messages = PumpMessages.OfSize(size);
        for (long i = 0; i < count; i++)
        {
            await writer.WriteAsync(messages.Next(i));
        }
    }

    private static async Task<byte[]> DrainAsync(IAsyncStreamReader<byte[]> reader, ServerCallContext context)
    {
        long count = 0;
        while (await reader.MoveNext(CancellationToken.None))
        {
            ServedTally.CountRequest(reader.Current);
            count++;
        }

        return BitConverter.GetBytes(count);
    }
}
