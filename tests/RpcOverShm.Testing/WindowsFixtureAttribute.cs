using NUnit.Framework;
using NUnit.Framework.Interfaces;
using NUnit.Framework.Internal;

namespace RpcOverShm.Testing;

/// <summary>
/// A fixture that exists only on Windows, and under Wine. Elsewhere its tests are not created, so they are not reported
/// as skipped.
/// </summary>
/// <param name="arguments">Those of the fixture's constructor.</param>
[AttributeUsage(AttributeTargets.Class, AllowMultiple = true)]
public sealed class WindowsFixtureAttribute(params object?[]? arguments)
    : TestFixtureAttribute(arguments), IFixtureBuilder2
{
    IEnumerable<TestSuite> IFixtureBuilder.BuildFrom(ITypeInfo typeInfo) =>
        OperatingSystem.IsWindows() ? BuildFrom(typeInfo) : Empty(typeInfo);

    IEnumerable<TestSuite> IFixtureBuilder2.BuildFrom(ITypeInfo typeInfo, IPreFilter filter) =>
        OperatingSystem.IsWindows() ? BuildFrom(typeInfo, filter) : Empty(typeInfo);

    // Without any fixture, NUnit would build one of its own.
    private static TestSuite[] Empty(ITypeInfo typeInfo) => [new TestFixture(typeInfo)];
}
