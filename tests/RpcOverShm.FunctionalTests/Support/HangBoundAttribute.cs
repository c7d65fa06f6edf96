using NUnit.Framework.Interfaces;

namespace RpcOverShm.FunctionalTests.Support;

/// <summary>
/// Ends the test process and names the test when a test hangs. Waits have their own timeouts; this covers threads that
/// spin or sleep without one.
/// </summary>
[AttributeUsage(AttributeTargets.Assembly | AttributeTargets.Class | AttributeTargets.Method)]
public sealed class HangBoundAttribute(int seconds = HangBoundAttribute.DefaultSeconds) : Attribute, ITestAction
{
    private const int DefaultSeconds = 300;

    public int Seconds => seconds;

    public ActionTargets Targets => ActionTargets.Test;

    public void BeforeTest(ITest test)
    {
        // A bound on the test or its class overrides the assembly's.
        bool isOverridden = seconds == DefaultSeconds && HasOwnBound(test);
        if (!isOverridden && !test.IsSuite)
        {
            HangWatchdog.Begin(test.FullName, TimeSpan.FromSeconds(seconds));
        }
    }

    public void AfterTest(ITest test) => HangWatchdog.End(test.FullName);

    private static bool HasOwnBound(ITest test) =>
        test.Method?.MethodInfo.IsDefined(typeof(HangBoundAttribute), false) == true
        || test.Method?.MethodInfo.DeclaringType?.IsDefined(typeof(HangBoundAttribute), true) == true;
}
