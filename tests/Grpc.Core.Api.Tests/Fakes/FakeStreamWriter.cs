namespace Grpc.Core.Api.Tests.Fakes;

/// <summary>Keeps what is written. It knows no writes with a token: the interface itself handles those.</summary>
internal sealed class FakeStreamWriter<T> : IClientStreamWriter<T>, IServerStreamWriter<T>
{
    public WriteOptions? WriteOptions { get; set; }

    internal List<T> Written { get; } = [];

    public Task WriteAsync(T message)
    {
        Written.Add(message);
        return Task.CompletedTask;
    }

    public Task CompleteAsync() => Task.CompletedTask;
}
