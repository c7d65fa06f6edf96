namespace RpcOverShm.Calls;

/// <summary>
/// A message that keeps the pooled bytes it came in. Its bytes are put together in arrays that are small enough to stay
/// off the large object heap, and a server gives it back when it has sent it as a response.
/// </summary>
internal interface IPooledMessage : IDisposable;
