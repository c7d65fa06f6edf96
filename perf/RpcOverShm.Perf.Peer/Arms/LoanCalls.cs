using System.Buffers;

namespace RpcOverShm.Perf.Peer.Arms;

/// <summary>
/// Raw bytes in rented payloads, which each side writes where the other one reads them. The channel must be the
/// product's.
/// </summary>
/// <param name="isOneWord">
/// Whether a message is only its number, in a payload of any length: neither side touches the other bytes.
/// </param>
internal sealed class LoanCalls(bool isOneWord = false) : CallsService
{
    private readonly Method<ShmPayload, ShmPayload> _echo =
        new(MethodType.Unary, "rpcovershm.perf.Loans", "Echo", ShmPayload.Marshaller, ShmPayload.Marshaller);

    public override ServerServiceDefinition Bind() =>
        ServerServiceDefinition.CreateBuilder().AddMethod(_echo, EchoAsync).Build();

    public override IEcho OpenEcho(ChannelBase channel) => new Echo((ShmChannel)channel, _echo, isOneWord);

    /// <summary>Checks the request where it lies, and answers with a payload of this side.</summary>
    private Task<ShmPayload> EchoAsync(ShmPayload request, ServerCallContext context)
    {
        using (request)
        {
            ReadOnlySequence<byte> asked = Written(request.Bytes, isOneWord);
            ServedTally.CountRequest(asked);
            ServedWork.Do(asked.FirstSpan);
            int size = EchoNumber.ReplyBytes(asked.FirstSpan);
            if (size != LoadOrder.SameAsRequest)
            {
                ShmPayload other = context.RentPayload(size);
                EchoNumber.FillReply(other.Memory.Span, asked.FirstSpan);
                return Task.FromResult(other);
            }

            ShmPayload same = context.RentPayload((int)request.Length);
            asked.CopyTo(same.Memory.Span);
            return Task.FromResult(same);
        }
    }

    private static ReadOnlySequence<byte> Written(in ReadOnlySequence<byte> payload, bool isOneWord) =>
        isOneWord ? payload.Slice(0, PayloadPattern.NumberBytes) : payload;

    private sealed class Echo(ShmChannel channel, Method<ShmPayload, ShmPayload> method, bool isOneWord) : IEcho
    {
        private readonly CallInvoker _invoker = channel.CreateCallInvoker();
        private byte[] _scratch = [];
        private ShmPayload? _request;
        private ShmPayload? _reply;

        /// <summary>
        /// In one piece if it was lent, as the usual; otherwise it is copied, which is not on the clock.
        /// </summary>
        public ReadOnlySpan<byte> Reply
        {
            get
            {
                ReadOnlySequence<byte> bytes = Written(_reply!.Bytes, isOneWord);
                if (bytes.IsSingleSegment)
                {
                    return bytes.FirstSpan;
                }

                _scratch = _scratch.Length < bytes.Length ? new byte[bytes.Length] : _scratch;
                bytes.CopyTo(_scratch);
                return _scratch.AsSpan(0, (int)bytes.Length);
            }
        }

        public Memory<byte> Prepare(ExchangeSize size)
        {
            _request?.Dispose();
            _reply?.Dispose();
            _reply = null;
            _request = channel.RentPayload(size.RequestBytes);
            return isOneWord ? _request.Memory[..PayloadPattern.NumberBytes] : _request.Memory;
        }

        public void Call() => _reply = _invoker.BlockingUnaryCall(method, null, default, _request!);

        // The figures count the allocations of the arm, and not this method's.
        [AsyncMethodBuilder(typeof(PoolingAsyncValueTaskMethodBuilder))]
        public async ValueTask CallAsync() =>
            _reply = await _invoker.AsyncUnaryCall(method, null, default, _request!).ResponseAsync;
    }
}
