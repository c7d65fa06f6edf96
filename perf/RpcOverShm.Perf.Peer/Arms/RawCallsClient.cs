namespace RpcOverShm.Perf.Peer.Arms;

/// <summary>The client's end of <see cref="RawCalls"/>, as generated code would call them.</summary>
internal sealed class RawCallsClient(ChannelBase channel) : IArmClient
{
    private readonly CallInvoker _invoker = channel.CreateCallInvoker();

    public Task<IEcho> OpenEchoAsync(CallerKind caller) => Task.FromResult<IEcho>(new Echo(_invoker));

    public Task<IPump> OpenPumpAsync(CallerKind caller) => Task.FromResult<IPump>(new Pump(_invoker));

    public Task<IDrain> OpenDrainAsync(CallerKind caller) => Task.FromResult<IDrain>(new Drain(_invoker));

    private sealed class Echo(CallInvoker invoker) : IEcho
    {
        // A message is a whole array: one for each size that is asked for.
        private readonly Dictionary<int, byte[]> _requests = [];
        private byte[] _request = [];
        private byte[] _reply = [];

        public ReadOnlySpan<byte> Reply => _reply;

        public Memory<byte> Prepare(ExchangeSize size)
        {
            if (_request.Length != size.RequestBytes && !_requests.TryGetValue(size.RequestBytes, out _request!))
            {
                _requests.Add(size.RequestBytes, _request = new byte[size.RequestBytes]);
            }

            return _request;
        }

        public void Call() => _reply = invoker.BlockingUnaryCall(RawCalls.EchoMethod, null, default, _request);

        // What is allocated for a call is to be the arm's, not this method's.
        [AsyncMethodBuilder(typeof(PoolingAsyncValueTaskMethodBuilder))]
        public async ValueTask CallAsync() =>
            _reply = await invoker.AsyncUnaryCall(RawCalls.EchoMethod, null, default, _request);
    }

    private sealed class Pump(CallInvoker invoker) : IPump
    {
        public void Receive(long messages, int sizeBytes, PumpSink sink) => throw new NotSupportedException();

        public async Task ReceiveAsync(long messages, int sizeBytes, PumpSink sink)
        {
            byte[] order = ByteStreamServer.Order(messages, sizeBytes);
            using AsyncServerStreamingCall<byte[]> call =
                invoker.AsyncServerStreamingCall(RawCalls.PumpMethod, null, default, order);
            while (await call.ResponseStream.MoveNext(CancellationToken.None))
            {
                sink.Take(call.ResponseStream.Current);
            }

            if (sink.Taken != messages)
            {
                throw new EndOfStreamException($"The stream had {sink.Taken} messages instead of {messages}.");
            }
        }
    }

    private sealed class Drain(CallInvoker invoker) : IDrain
    {
        public void Send(long messages, int sizeBytes) => throw new NotSupportedException();

        public async Task SendAsync(long messages, int sizeBytes)
        {
            using AsyncClientStreamingCall<byte[], byte[]> call =
                invoker.AsyncClientStreamingCall(RawCalls.DrainMethod, null, default);
            using var source = PumpMessages.OfSize(sizeBytes);
            for (long i = 0; i < messages; i++)
            {
                await call.RequestStream.WriteAsync(source.Next(i));
            }

            await call.RequestStream.CompleteAsync();
            long taken = BitConverter.ToInt64(await call.ResponseAsync);
            if (taken != messages)
            {
                throw new InvalidDataException($"The server took {taken} messages instead of {messages}.");
            }
        }
    }
}
