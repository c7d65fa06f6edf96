using Grpc.Core;

namespace RpcOverShm.Clients;

/// <summary>What a call's head is made of besides what the call itself knows.</summary>
/// <param name="FullName">The method, UTF-8.</param>
/// <param name="Host">The authority that the caller has set; null for none.</param>
/// <param name="Headers">The request's metadata; null for none.</param>
/// <param name="IsWaitForReady">Whether the call waits until there is a server.</param>
internal readonly record struct CallTarget(byte[] FullName, string? Host, Metadata? Headers, bool IsWaitForReady);
