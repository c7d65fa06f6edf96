using NUnit.Framework.Interfaces;
using NUnit.Framework.Internal;
using NUnit.Framework.Internal.Builders;

namespace RpcOverShm.FunctionalTests.Support;

/// <summary>
/// Builds a fixture only for root, who alone can start processes of other users. Elsewhere its tests are not created,
/// so they are not reported as skipped. CI runs as root.
/// </summary>
[AttributeUsage(AttributeTargets.Class)]
public sealed class RootFixtureAttribute : NUnitAttribute, IFixtureBuilder2
{
    private readonly NUnitTestFixtureBuilder _builder = new();

    public IEnumerable<TestSuite> BuildFrom(ITypeInfo typeInfo) => BuildFrom(typeInfo, new Everything());

    public IEnumerable<TestSuite> BuildFrom(ITypeInfo typeInfo, IPreFilter filter)
    {
        // Wine's user has the name of the one that runs it.
        if (Environment.UserName != "root" || OperatingSystem.IsWindows())
        {
            return [new TestFixture(typeInfo)]; // Without any fixture, NUnit would build one of its own.
        }

        TestSuite fixture = _builder.BuildFrom(typeInfo, filter);
        fixture.ApplyAttributesToTest(typeInfo.Type);
        return [fixture];
    }

    private sealed class Everything : IPreFilter
    {
        public bool IsMatch(Type type) => true;

        public bool IsMatch(Type type, System.Reflection.MethodInfo method) => true;
    }
}
