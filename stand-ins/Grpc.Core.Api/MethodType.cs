namespace Grpc.Core;

public enum MethodType
{
    Unary = 0,
    ClientStreaming = 1,
    ServerStreaming = 2,
    DuplexStreaming = 3,
}
