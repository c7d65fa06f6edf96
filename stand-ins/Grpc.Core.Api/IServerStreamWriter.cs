namespace Grpc.Core;

public interface IServerStreamWriter<in T> : IAsyncStreamWriter<T>
{
}
