namespace Grpc.Core;

public interface IMethod
{
    MethodType Type { get; }

    string ServiceName { get; }

    string Name { get; }

    string FullName { get; }
}
