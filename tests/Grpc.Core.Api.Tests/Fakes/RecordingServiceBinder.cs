namespace Grpc.Core.Api.Tests.Fakes;

/// <summary>Notes the methods and handlers that a definition is bound to it with.</summary>
internal sealed class RecordingServiceBinder : ServiceBinderBase
{
    internal List<(IMethod Method, Delegate? Handler)> Bound { get; } = [];

    public override void AddMethod<TRequest, TResponse>(
        Method<TRequest, TResponse> method, UnaryServerMethod<TRequest, TResponse>? handler) =>
        Bound.Add((method, handler));

    public override void AddMethod<TRequest, TResponse>(
        Method<TRequest, TResponse> method, ClientStreamingServerMethod<TRequest, TResponse>? handler) =>
        Bound.Add((method, handler));

    public override void AddMethod<TRequest, TResponse>(
        Method<TRequest, TResponse> method, ServerStreamingServerMethod<TRequest, TResponse>? handler) =>
        Bound.Add((method, handler));

    public override void AddMethod<TRequest, TResponse>(
        Method<TRequest, TResponse> method, DuplexStreamingServerMethod<TRequest, TResponse>? handler) =>
        Bound.Add((method, handler));
}
