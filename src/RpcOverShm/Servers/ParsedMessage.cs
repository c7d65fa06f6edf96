using System.Runtime.ExceptionServices;

namespace RpcOverShm.Servers;

/// <summary>A request that was parsed where it lay, before its method runs.</summary>
/// <param name="Value">The request, whatever its marshaller made.</param>
/// <param name="Failure">What the marshaller threw instead, to be thrown where the method would run.</param>
internal sealed record ParsedMessage(object? Value, ExceptionDispatchInfo? Failure);
