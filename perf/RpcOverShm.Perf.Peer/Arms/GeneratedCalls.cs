namespace RpcOverShm.Perf.Peer.Arms;

/// <summary>
/// The service of generated code, with Protobuf messages. If it calls back, its echo is that of its caller.
/// </summary>
internal sealed class GeneratedCalls(bool callsBack = false) : CallsService
{
    public override bool HasStreams => true;

    public override ServerServiceDefinition Bind() =>
        Conformance.BindService(callsBack ? new CallingBackService() : new CheckedService());

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

    public override Action<int> OpenDelay(ChannelBase channel)
    {
        var client = new Conformance.ConformanceClient(channel);
        return milliseconds => client.Delay(new DelayRequest { Milliseconds = milliseconds });
    }

    public override IPump OpenPump(ChannelBase channel) =>
        new CallsPump<Payload>(CheckedService.Form, order => new Conformance.ConformanceClient(channel).Pump(order));

    public override IDrain OpenDrain(ChannelBase channel) =>
        new CallsDrain<Payload>(CheckedService.Form, () => new Conformance.ConformanceClient(channel).Drain());
}

/// <summary>The generated service: incoming messages are checked, outgoing ones can be.</summary>
internal class CheckedService : Conformance.ConformanceBase
{
    public static ProtobufForm Form { get; } = new();

    public override Task<Payload> Echo(Payload request, ServerCallContext context) => Form.EchoAsync(request);

    public override async Task<Payload> Delay(DelayRequest request, ServerCallContext context)
    {
        await Task.Delay(request.Milliseconds, context.CancellationToken);
        return new Payload();
    }

    public override Task Pump(
        PumpRequest request, IServerStreamWriter<Payload> responseStream, ServerCallContext context) =>
        Form.PumpAsync(request, responseStream);

    public override Task<DrainReply> Drain(IAsyncStreamReader<Payload> requestStream, ServerCallContext context) =>
        Form.DrainAsync(requestStream);
}

/// <summary>The generated service, whose unary methods make a blocking callback to the client first.</summary>
internal sealed class CallingBackService : CheckedService
{
    public override Task<Payload> Echo(Payload request, ServerCallContext context)
    {
        Payload answer = Back(context).Echo(request);
        return base.Echo(answer, context);
    }

    public override Task<Payload> Delay(DelayRequest request, ServerCallContext context)
    {
        Back(context).Echo(new Payload());
        return base.Delay(request, context);
    }

    private static Conformance.ConformanceClient Back(ServerCallContext context) =>
        new(context.GetShmSession().CreateCallInvoker());
}

/// <summary>The service that a client offers for callbacks.</summary>
internal sealed class OfferedService : Conformance.ConformanceBase
{
    public override Task<Payload> Echo(Payload request, ServerCallContext context) => Task.FromResult(request);
}
