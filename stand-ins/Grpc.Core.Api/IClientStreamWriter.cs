namespace Grpc.Core;

public interface IClientStreamWriter<in T> : IAsyncStreamWriter<T>
{
    Task CompleteAsync();
}
