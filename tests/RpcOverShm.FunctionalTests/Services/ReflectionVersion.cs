namespace RpcOverShm.FunctionalTests.Services;

/// <summary>The version of the reflection service that a test calls.</summary>
public enum ReflectionVersion
{
    /// <summary><c>grpc.reflection.v1</c>.</summary>
    V1,

    /// <summary><c>grpc.reflection.v1alpha</c>.</summary>
    V1Alpha,
}
