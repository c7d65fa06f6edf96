using System.Diagnostics.CodeAnalysis;
using System.Reflection;
using Google.Protobuf;
using Grpc.Core;

namespace RpcOverShm.Protobuf.Faults;

/// <summary>An exception with a <see cref="ShmFaultAttribute"/>: how it is sent and made.</summary>
internal sealed class AttributedFault
{
    private readonly PropertyInfo _detail;
    private readonly ConstructorInfo _constructor;

    /// <summary>Reads the attribute and finds the members that it demands.</summary>
    /// <exception cref="ArgumentException">The attribute or a member is missing.</exception>
    public AttributedFault(
        [DynamicallyAccessedMembers(
            DynamicallyAccessedMemberTypes.PublicProperties | DynamicallyAccessedMemberTypes.PublicConstructors)]
        Type exceptionType)
    {
        ShmFaultAttribute attribute = exceptionType.GetCustomAttribute<ShmFaultAttribute>(inherit: false)
            ?? throw new ArgumentException($"{exceptionType} has no [ShmFault].");
        Type type = attribute.DetailType;
        Empty = Activator.CreateInstance(type) as IMessage
            ?? throw new ArgumentException($"[ShmFault] of {exceptionType}: {type} is no Protobuf message.");
        StatusCode = attribute.StatusCode;
        PropertyInfo[] details = Array.FindAll(exceptionType.GetProperties(), one => one.PropertyType == type);
        _detail = details.Length == 1
            ? details[0]
            : throw new ArgumentException(
                $"{exceptionType} has {details.Length} public properties of the type {type}; one is its detail.");
        _constructor = exceptionType.GetConstructor([type, typeof(string), typeof(Exception)])
            ?? throw new ArgumentException(
                $"{exceptionType} has no public constructor ({type.Name}, string, Exception).");
    }

    public StatusCode StatusCode { get; }

    /// <summary>An empty detail.</summary>
    public IMessage Empty { get; }

    public IMessage? ToDetail(Exception exception) => (IMessage?)_detail.GetValue(exception);

    public Exception ToException(IMessage detail, RpcException failure) => (Exception)_constructor.Invoke(
        BindingFlags.DoNotWrapExceptions, binder: null, [detail, failure.Status.Detail, failure], culture: null);
}
