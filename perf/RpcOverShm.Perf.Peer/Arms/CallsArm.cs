using Grpc.Core;
using RpcOverShm.Perf.Peer.Loads;
using RpcOverShm.Testing.Protos;

namespace RpcOverShm.Perf.Peer.Arms;

/// <summary>
/// What all gRPC arms share: the same generated client and service, the same messages. They differ in channel and
/// server.
/// </summary>
internal abstract class CallsArm : IArm
{
    public abstract string Name { get; }

    /// <summary>A generated client reads a stream of responses by awaiting; it has no blocking form.</summary>
    public bool Supports(LoadShape shape, CallerKind caller) => shape == LoadShape.Echo || caller == CallerKind.Async;

    public async Task<string> ServeAsync(string place)
    {
        return await ServeAsync(Conformance.BindService(new CheckedService()), place);
    }

    public IArmClient MakeClient(string place) =>
        new Client(new Conformance.ConformanceClient(MakeChannel(place)));

    protected abstract Task<string> ServeAsync(ServerServiceDefinition service, string place);

    protected abstract ChannelBase MakeChannel(string place);

    private sealed class Client(Conformance.ConformanceClient client) : IArmClient
    {
        public Task<IEcho> OpenEchoAsync(CallerKind caller) => Task.FromResult<IEcho>(new CallsEcho(client));

        public Task<IPump> OpenPumpAsync(CallerKind caller) => Task.FromResult<IPump>(new CallsPump(client));
    }
}
