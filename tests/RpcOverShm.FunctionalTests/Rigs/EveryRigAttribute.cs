using System.Reflection;
using NUnit.Framework.Interfaces;
using NUnit.Framework.Internal;
using NUnit.Framework.Internal.Builders;

namespace RpcOverShm.FunctionalTests.Rigs;

/// <summary>
/// Builds a fixture per kind of rig, without the tests that <see cref="NotOnAttribute"/> excludes. If the environment
/// selects a scheduling mode, and on Windows, it builds the fixture of shared memory only.
/// </summary>
/// <param name="more">Arguments of the fixture after the kind.</param>
[AttributeUsage(AttributeTargets.Class, AllowMultiple = true)]
public sealed class EveryRigAttribute(params object[] more) : NUnitAttribute, IFixtureBuilder2
{
    private readonly NUnitTestFixtureBuilder _builder = new();

    public IReadOnlyList<object> More => more;

    public IEnumerable<TestSuite> BuildFrom(ITypeInfo typeInfo) => BuildFrom(typeInfo, new KindFilter(null, default));

    public IEnumerable<TestSuite> BuildFrom(ITypeInfo typeInfo, IPreFilter filter)
    {
        // The oracles show what gRPC does, on any system. They have no part in what this library does on Windows.
        bool isShmAlone = RigOptions.IsSchedulingChosen || OperatingSystem.IsWindows();
        RigKind[] kinds = isShmAlone ? [RigKind.Shm] : Enum.GetValues<RigKind>();
        return kinds
            .Where(kind => NotOnAttribute.Allows(typeInfo.Type, kind))
            .Select(kind => Build(typeInfo, filter, kind));
    }

    private TestSuite Build(ITypeInfo typeInfo, IPreFilter filter, RigKind kind)
    {
        TestSuite fixture = _builder.BuildFrom(
            typeInfo, new KindFilter(filter, kind), new TestFixtureData([kind, .. more]));
        fixture.ApplyAttributesToTest(typeInfo.Type);
        if (kind != RigKind.Shm)
        {
            // The tests of an oracle show what it does. What this library does, the short set shows.
            fixture.Properties.Add(PropertyNames.Category, LongAttribute.Name);
        }

        return fixture;
    }

    private sealed class KindFilter(IPreFilter? inner, RigKind kind) : IPreFilter
    {
        public bool IsMatch(Type type) => inner?.IsMatch(type) ?? true;

        public bool IsMatch(Type type, MethodInfo method) =>
            (inner?.IsMatch(type, method) ?? true) && NotOnAttribute.Allows(method, kind);
    }
}

/// <summary>Excludes a test or a fixture from a kind of rig, where it is not even counted as skipped.</summary>
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
