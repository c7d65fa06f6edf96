using NUnit.Framework.Interfaces;
using RpcOverShm.Testing;

// A new instance for each test, because fixtures keep the objects of a test in fields.
[assembly: FixtureLifeCycle(LifeCycle.InstancePerTestCase)]
[assembly: RpcOverShm.Hosting.Tests.HangGuard]

namespace RpcOverShm.Hosting.Tests;

/// <summary>Applies the hang watchdog to every test of the assembly.</summary>
[AttributeUsage(AttributeTargets.Assembly)]
public sealed class HangGuardAttribute : Attribute, ITestAction
{
    public ActionTargets Targets => ActionTargets.Test;

    public void BeforeTest(ITest test) => HangWatchdog.Begin(test.FullName, Timeouts.Hang);

    public void AfterTest(ITest test) => HangWatchdog.End(test.FullName);
}
