namespace RpcOverShm.Perf.Peer.Arms;

/// <summary>
/// A service that gRPC arms serve, and the client's way to each of its methods. Every arm of it is alike.
/// </summary>
internal abstract class CallsService
{
    /// <summary>Whether its messages are streamed too.</summary>
    public virtual bool HasStreams => false;

    /// <summary>The service, for a server that takes it bound.</summary>
    public abstract ServerServiceDefinition Bind();

    /// <summary>Starts a server of grpc-dotnet, which takes a service by its class.</summary>
    public virtual Task<string> ServeByKestrelAsync(string place) => throw new NotSupportedException();

    public abstract IEcho OpenEcho(ChannelBase channel);

    public virtual IPump OpenPump(ChannelBase channel) => throw new NotSupportedException();

    public virtual IDrain OpenDrain(ChannelBase channel) => throw new NotSupportedException();
}

/// <summary>The service of generated code, with Protobuf messages.</summary>
internal sealed class GeneratedCalls : CallsService
{
    public override bool HasStreams => true;

    public override ServerServiceDefinition Bind() => Conformance.BindService(new CheckedService());

    public override Task<string> ServeByKestrelAsync(string place) =>
        GrpcDotnetTransport.StartServerAsync<CheckedService>(place);

    public override IEcho OpenEcho(ChannelBase channel)
    {
        var client = new Conformance.ConformanceClient(channel);
        return new MessageEcho<Payload>(
            CheckedService.Form,
            request => client.Echo(request),
            request => new(client.EchoAsync(request).ResponseAsync));
    }

    public override IPump OpenPump(ChannelBase channel) =>
        new CallsPump<Payload>(CheckedService.Form, order => new Conformance.ConformanceClient(channel).Pump(order));

    public override IDrain OpenDrain(ChannelBase channel) =>
        new CallsDrain<Payload>(CheckedService.Form, () => new Conformance.ConformanceClient(channel).Drain());
}

/// <summary>The generated service: incoming messages are checked, outgoing ones can be.</summary>
internal sealed class CheckedService : Conformance.ConformanceBase
{
    public static ProtobufForm Form { get; } = new();

    public override Task<Payload> Echo(Payload request, ServerCallContext context) => Form.EchoAsync(request);

    public override Task Pump(
        PumpRequest request, IServerStreamWriter<Payload> responseStream, ServerCallContext context) =>
        Form.PumpAsync(request, responseStream);

    public override Task<DrainReply> Drain(IAsyncStreamReader<Payload> requestStream, ServerCallContext context) =>
        Form.DrainAsync(requestStream);
}
