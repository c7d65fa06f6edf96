namespace Grpc.Core.Api.Tests.Fakes;

/// <summary>One call as it arrived at the bottom of a chain of invokers.</summary>
internal sealed record CallRecord(MethodType Type, bool Blocking, string? Host, CallOptions Options, object? Request);
