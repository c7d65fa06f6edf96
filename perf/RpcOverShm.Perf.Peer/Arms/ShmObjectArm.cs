namespace RpcOverShm.Perf.Peer.Arms;

/// <summary>
/// The product with plain objects, serialised as WCF does it over its pipe: what a service pays that keeps its data
/// contracts.
/// </summary>
internal sealed class ShmObjectArm : IArm
{
    public string Name => "shm-object";

    public bool Supports(LoadShape shape, CallerKind caller) => shape == LoadShape.Echo;

    public Task<string> ServeAsync(string place) => ShmProtobufArm.StartServerAsync(ObjectCalls.Bind(), place);

    public IArmClient MakeClient(string place) => new Client(ShmProtobufArm.OpenChannel(place));

    private sealed class Client(ChannelBase channel) : IArmClient
    {
        private readonly CallInvoker _invoker = channel.CreateCallInvoker();

        public Task<IEcho> OpenEchoAsync(CallerKind caller) => Task.FromResult<IEcho>(new Echo(_invoker));

        public Task<IPump> OpenPumpAsync(CallerKind caller) => throw new NotSupportedException();

        public Task<IDrain> OpenDrainAsync(CallerKind caller) => throw new NotSupportedException();
    }

    private sealed class Echo(CallInvoker invoker) : IEcho
    {
        private readonly Dictionary<int, ContractMessage> _requests = [];
        private ContractMessage _request = new();
        private ContractMessage _reply = new();

        public ReadOnlySpan<byte> Reply => _reply.Data;

        public Memory<byte> Prepare(ExchangeSize size)
        {
            if (_request.Data.Length != size.RequestBytes && !_requests.TryGetValue(size.RequestBytes, out _request!))
            {
                _request = new ContractMessage { Data = new byte[size.RequestBytes] };
                _requests.Add(size.RequestBytes, _request);
            }

            return _request.Data;
        }

        public void Call() => _reply = invoker.BlockingUnaryCall(ObjectCalls.EchoMethod, null, default, _request);

        public async ValueTask CallAsync() =>
            _reply = await invoker.AsyncUnaryCall(ObjectCalls.EchoMethod, null, default, _request);
    }
}
