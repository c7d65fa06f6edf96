using System.Diagnostics.CodeAnalysis;

namespace Grpc.Core;

/// <summary>
/// Sits on a generated service base class and names its bind method. Hosts find the method by reflection, hence the
/// annotations that keep the trimmer away from it.
/// </summary>
[AttributeUsage(AttributeTargets.Class, AllowMultiple = false, Inherited = true)]
public class BindServiceMethodAttribute : Attribute
{
    private const DynamicallyAccessedMemberTypes ReflectedMembers = DynamicallyAccessedMemberTypes.PublicMethods
        | DynamicallyAccessedMemberTypes.NonPublicMethods
        | DynamicallyAccessedMemberTypes.PublicProperties;

    public BindServiceMethodAttribute(
        [DynamicallyAccessedMembers(ReflectedMembers)] Type bindType,
        string bindMethodName)
    {
        BindType = bindType;
        BindMethodName = bindMethodName;
    }

    [DynamicallyAccessedMembers(ReflectedMembers)]
    public Type BindType { get; }

    public string BindMethodName { get; }
}
