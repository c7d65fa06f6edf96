using Grpc.Core;
using RpcOverShm.Clients;

namespace RpcOverShm.Retries;

/// <summary>Makes an attempt at a call.</summary>
/// <param name="options">Its options.</param>
/// <param name="end">How it has ended already, and is not to be sent; null for one that is.</param>
internal delegate Attempt<TResponse> AttemptFactory<TResponse>(CallOptions options, CallEnd? end)
    where TResponse : class;
