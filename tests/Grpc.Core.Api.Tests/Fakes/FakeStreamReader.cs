namespace Grpc.Core.Api.Tests.Fakes;

/// <summary>Reads what it was made with, and remembers the last token it was given.</summary>
internal sealed class FakeStreamReader<T>(params T[] messages) : IAsyncStreamReader<T>
{
    private int _next;

    public T Current => messages[_next - 1];

    internal CancellationToken? LastToken { get; private set; }

    public Task<bool> MoveNext(CancellationToken cancellationToken)
    {
        LastToken = cancellationToken;
        return Task.FromResult(_next++ < messages.Length);
    }
}
