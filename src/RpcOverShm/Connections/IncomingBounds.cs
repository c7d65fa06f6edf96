using RpcOverShm.Buffers;

namespace RpcOverShm.Connections;

/// <summary>Bounds what the peer of a connection that accepts calls can make this side keep.</summary>
/// <param name="BufferBudget">Counts the bytes of requests, of incomplete heads and of unsent frames.</param>
/// <param name="HeadTimeout">The time for the head of a request that comes in several records.</param>
internal sealed record IncomingBounds(BufferBudget BufferBudget, TimeSpan HeadTimeout);
