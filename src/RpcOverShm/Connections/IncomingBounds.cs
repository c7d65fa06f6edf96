using RpcOverShm.Buffers;

namespace RpcOverShm.Connections;

/// <summary>The bounds of what the peer of one connection may make this side keep; for a server.</summary>
/// <param name="Budget">The bytes of requests, of partial heads, and of queued answers.</param>
/// <param name="HeadTimeout">The time for the head of a request that comes in several records.</param>
internal sealed record IncomingBounds(BufferBudget Budget, TimeSpan HeadTimeout);
