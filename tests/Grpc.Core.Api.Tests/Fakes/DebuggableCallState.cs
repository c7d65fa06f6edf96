using System.Collections;

namespace Grpc.Core.Api.Tests.Fakes;

/// <summary>A state object that volunteers named values to debuggers, as transports do.</summary>
internal sealed class DebuggableCallState(params (string Name, object Value)[] values)
    : IEnumerable<KeyValuePair<string, object>>
{
    internal Status? Outcome { get; init; }

    internal TaskCompletionSource<Metadata> Headers { get; } = new();

    public IEnumerator<KeyValuePair<string, object>> GetEnumerator()
    {
        return values.Select(value => KeyValuePair.Create(value.Name, value.Value)).GetEnumerator();
    }

    IEnumerator IEnumerable.GetEnumerator() => GetEnumerator();

    internal static Task<Metadata> HeadersOf(object state) => ((DebuggableCallState)state).Headers.Task;

    internal static Status StatusOf(object state)
    {
        return ((DebuggableCallState)state).Outcome ?? throw new InvalidOperationException("Still running.");
    }

    internal static Metadata TrailersOf(object state)
    {
        StatusOf(state);
        return [new("trailer", "1")];
    }
}
