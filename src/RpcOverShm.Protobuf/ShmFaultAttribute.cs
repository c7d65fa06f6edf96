using System.Diagnostics.CodeAnalysis;
using Grpc.Core;

namespace RpcOverShm.Protobuf;

/// <summary>
/// Declares the status code and the type of the detail with which an exception is sent to the client, for
/// <see cref="ShmFaultsBuilder.Add{TException}"/>.
/// </summary>
/// <remarks>
/// The exception has one public property of the type of the detail, and a public constructor with three parameters: the
/// detail, the message (string) and the inner exception (<see cref="Exception"/>). A derived class does not inherit the
/// attribute, but is sent like its nearest base class in the map.
/// </remarks>
[AttributeUsage(AttributeTargets.Class, Inherited = false)]
public sealed class ShmFaultAttribute : Attribute
{
    /// <summary>Creates the attribute.</summary>
    /// <param name="statusCode">The status code of the call; not <see cref="StatusCode.OK"/>.</param>
    /// <param name="detailType">The type of the detail, a generated Protobuf message.</param>
    public ShmFaultAttribute(
        StatusCode statusCode,
        [DynamicallyAccessedMembers(DynamicallyAccessedMemberTypes.PublicParameterlessConstructor)] Type detailType)
    {
        StatusCode = statusCode;
        DetailType = detailType;
    }

    /// <summary>Gets the status code of the call.</summary>
    public StatusCode StatusCode { get; }

    /// <summary>Gets the type of the detail.</summary>
    [DynamicallyAccessedMembers(DynamicallyAccessedMemberTypes.PublicParameterlessConstructor)]
    public Type DetailType { get; }
}
