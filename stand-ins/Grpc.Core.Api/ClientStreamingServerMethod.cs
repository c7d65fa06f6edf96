namespace Grpc.Core;

public delegate Task<TResponse> ClientStreamingServerMethod<TRequest, TResponse>(
    IAsyncStreamReader<TRequest> requestStream,
    ServerCallContext context)
    where TRequest : class
    where TResponse : class;
