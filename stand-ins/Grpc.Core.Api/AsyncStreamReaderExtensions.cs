using Grpc.Core.Utils;

namespace Grpc.Core;

public static class AsyncStreamReaderExtensions
{
    public static Task<bool> MoveNext<T>(this IAsyncStreamReader<T> streamReader)
        where T : class
    {
        return GrpcPreconditions.CheckNotNull(streamReader, nameof(streamReader)).MoveNext(CancellationToken.None);
    }
}
