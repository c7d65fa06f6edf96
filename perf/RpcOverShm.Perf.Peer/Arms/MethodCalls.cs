namespace RpcOverShm.Perf.Peer.Arms;

/// <summary>A service without generated code, whose messages are of any form.</summary>
internal sealed class MethodCalls<T>(string name, MessageForm<T> form, bool hasStreams = false) : CallsService
    where T : class
{
    private Methods? _methods;
    private int _blockingOpened;

    public override bool HasStreams => hasStreams;

    /// <summary>The number of methods that block, for <see cref="OpenBlocking"/>.</summary>
    public int BlockingMethods { get; init; }

    // Made when they are needed: a program that has just started does without.
    private Methods Made => _methods ??= new Methods("rpcovershm.perf." + name, form.Marshaller);

    public override ServerServiceDefinition Bind()
    {
        ServerServiceDefinition.Builder service = ServerServiceDefinition.CreateBuilder()
            .AddMethod(Made.Echo, (request, _) => form.EchoAsync(request))
            .AddMethod(Made.Pump, (order, writer, _) => form.PumpAsync(order, writer))
            .AddMethod(Made.Drain, (reader, _) => form.DrainAsync(reader));
        for (int i = 0; i < BlockingMethods; i++)
        {
            service.AddMethod(Made.Blocking(i), (request, _) => EchoBlockedAsync(request));
        }

        return service.Build();
    }

    public override IEcho OpenEcho(ChannelBase channel) =>
        new MessageEcho<T>(form, channel.CreateCallInvoker(), Made.Echo);

    public override IEcho OpenBlocking(ChannelBase channel) => _blockingOpened < BlockingMethods
        ? new MessageEcho<T>(form, channel.CreateCallInvoker(), Made.Blocking(_blockingOpened++))
        : throw new NotSupportedException($"There are {BlockingMethods} methods that block.");

    public override IPump OpenPump(ChannelBase channel) => new CallsPump<T>(
        form, order => channel.CreateCallInvoker().AsyncServerStreamingCall(Made.Pump, null, default, order));

    public override IDrain OpenDrain(ChannelBase channel) => new CallsDrain<T>(
        form, () => channel.CreateCallInvoker().AsyncClientStreamingCall(Made.Drain, null, default));

    private Task<T> EchoBlockedAsync(T request)
    {
        ServedWork.Block();
        return form.EchoAsync(request);
    }

    private sealed class Methods(string service, Marshaller<T> messages)
    {
        public Method<T, T> Echo { get; } = new(MethodType.Unary, service, "Echo", messages, messages);

        public Method<PumpRequest, T> Pump { get; } = new(
            MethodType.ServerStreaming, service, "Pump", RecordFormat.Protobuf.MarshallerOf<PumpRequest>(), messages);

        public Method<T, DrainReply> Drain { get; } = new(
            MethodType.ClientStreaming, service, "Drain", messages, RecordFormat.Protobuf.MarshallerOf<DrainReply>());

        public Method<T, T> Blocking(int number) =>
            new(MethodType.Unary, service, $"Blocking{number}", messages, messages);
    }
}
