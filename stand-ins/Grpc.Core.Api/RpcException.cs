using Grpc.Core.Utils;

namespace Grpc.Core;

public class RpcException : Exception
{
    public RpcException(Status status)
        : this(status, Metadata.Empty)
    {
    }

    public RpcException(Status status, string message)
        : this(status, Metadata.Empty, message)
    {
    }

    public RpcException(Status status, Metadata trailers)
        : this(status, trailers, status.ToString())
    {
    }

    public RpcException(Status status, Metadata trailers, string message)
        : base(message, status.DebugException)
    {
        Status = status;
        Trailers = GrpcPreconditions.CheckNotNull(trailers, nameof(trailers));
    }

    public Status Status { get; }

    public StatusCode StatusCode => Status.StatusCode;

    public Metadata Trailers { get; }
}
