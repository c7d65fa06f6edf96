using System.Reflection;

namespace RpcOverShm.FunctionalTests.Rigs;

/// <summary>
/// A test, or a whole fixture, that does not apply to a kind of rig: it is not made there, so it counts as nothing.
/// </summary>
/// <param name="kind">The rig without the test.</param>
/// <param name="reason">The fact about the rig that makes the test meaningless there.</param>
[AttributeUsage(AttributeTargets.Class | AttributeTargets.Method, AllowMultiple = true)]
public sealed class NotOnAttribute(RigKind kind, string reason) : Attribute
{
    public RigKind Kind => kind;

    public string Reason => reason;

    public static bool Allows(MemberInfo member, RigKind kind) =>
        member.GetCustomAttributes<NotOnAttribute>().All(attribute => attribute.Kind != kind);
}
