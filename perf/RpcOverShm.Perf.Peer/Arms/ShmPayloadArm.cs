using System.Buffers;

namespace RpcOverShm.Perf.Peer.Arms;

/// <summary>The product with raw bytes in pooled memory: what a proxy or a file server would use.</summary>
internal sealed class ShmPayloadArm : IArm
{
    private static readonly Method<ShmPayload, ShmPayload> s_echo = new(
        MethodType.Unary, "rpcovershm.perf.Payloads", "Echo", ShmPayload.Marshaller, ShmPayload.Marshaller);

    public string Name => "shm-payload";

    public bool Supports(LoadShape shape, CallerKind caller) => shape == LoadShape.Echo;

    public Task<string> ServeAsync(string place) => ShmProtobufArm.StartServerAsync(
        ServerServiceDefinition.CreateBuilder().AddMethod(s_echo, AnswerAsync).Build(), place);

    public IArmClient MakeClient(string place) => new Client(ShmProtobufArm.OpenChannel(place));

    private static Task<ShmPayload> AnswerAsync(ShmPayload request, ServerCallContext context)
    {
        ServedTally.CountRequest(request.Bytes);
        ReadOnlySpan<byte> first = request.Bytes.FirstSpan;
        int size = EchoNumber.ReplyBytes(first);
        if (size == LoadOrder.SameAsRequest)
        {
            return Task.FromResult(request);
        }

        byte[] reply = GC.AllocateUninitializedArray<byte>(size);
        EchoNumber.FillReply(reply, first);
        request.Dispose();
        return Task.FromResult(ShmPayload.Wrap(reply));
    }

    private sealed class Client(ChannelBase channel) : IArmClient
    {
        private readonly CallInvoker _invoker = channel.CreateCallInvoker();

        public Task<IEcho> OpenEchoAsync(CallerKind caller) => Task.FromResult<IEcho>(new Echo(_invoker));
    }

    private sealed class Echo(CallInvoker invoker) : IEcho
    {
        private byte[] _request = [];
        private byte[] _flat = [];
        private ShmPayload? _sent;
        private ShmPayload? _reply;

        public ReadOnlySpan<byte> Reply
        {
            get
            {
                ReadOnlySequence<byte> bytes = _reply!.Bytes;
                _flat = _flat.Length < bytes.Length ? new byte[bytes.Length] : _flat;
                bytes.CopyTo(_flat);
                return _flat.AsSpan(0, (int)bytes.Length);
            }
        }

        public Memory<byte> Prepare(ExchangeSize size)
        {
            _reply?.Dispose();
            _reply = null;
            _request = _request.Length < size.RequestBytes ? new byte[size.RequestBytes] : _request;
            _sent = ShmPayload.Wrap(_request.AsMemory(0, size.RequestBytes));
            return _request.AsMemory(0, size.RequestBytes);
        }

        public void Call() => _reply = invoker.BlockingUnaryCall(s_echo, null, default, _sent!);

        // What is allocated for a call is to be the arm's, not this method's.
        [AsyncMethodBuilder(typeof(PoolingAsyncValueTaskMethodBuilder))]
        public async ValueTask CallAsync() =>
            _reply = await invoker.AsyncUnaryCall(s_echo, null, default, _sent!);
    }
}
