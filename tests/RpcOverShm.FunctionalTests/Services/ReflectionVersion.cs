namespace RpcOverShm.FunctionalTests.Services;

/// <summary>Which version of the reflection service a test asks.</summary>
public enum ReflectionVersion
{
    /// <summary><c>grpc.reflection.v1</c>.</summary>
    V1,

    /// <summary><c>grpc.reflection.v1alpha</c>.</summary>
    V1Alpha,
}
