using System.Runtime.CompilerServices;
using Grpc.Core;

namespace RpcOverShm.Servers;

/// <summary>Reads the methods of a service definition.</summary>
internal static class ServiceMethods
{
    /// <summary>Adds the methods of a service to a binder.</summary>
    /// <param name="service">The service.</param>
    /// <param name="binder">The binder.</param>
    /// <remarks>
    /// ServerServiceDefinition.BindService is public since Grpc.Core.Api 2.80. Older versions have it as an internal
    /// method; the package works with those too.
    /// </remarks>
    [UnsafeAccessor(UnsafeAccessorKind.Method, Name = "BindService")]
    public static extern void AddTo(this ServerServiceDefinition service, ServiceBinderBase binder);
}
