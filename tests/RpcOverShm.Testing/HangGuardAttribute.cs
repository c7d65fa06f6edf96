using NUnit.Framework;
using NUnit.Framework.Interfaces;

namespace RpcOverShm.Testing;

/// <summary>Applies the hang watchdog to every test of an assembly.</summary>
[AttributeUsage(AttributeTargets.Assembly)]
public sealed class HangGuardAttribute : Attribute, ITestAction
{
    public ActionTargets Targets => ActionTargets.Test;

    public void BeforeTest(ITest test) => HangWatchdog.Begin(test.FullName, Timeouts.Hang);

    public void AfterTest(ITest test) => HangWatchdog.End(test.FullName);
}
