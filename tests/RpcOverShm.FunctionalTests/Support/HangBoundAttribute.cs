using NUnit.Framework.Interfaces;

namespace RpcOverShm.FunctionalTests.Support;

/// <summary>
/// Ends the test process, with the name of the test, when a test takes longer than anything that works. Waits are
/// bounded where they stand; this is for threads that spin or sleep where no bound reaches.
/// </summary>
[AttributeUsage(AttributeTargets.Assembly | AttributeTargets.Class | AttributeTargets.Method)]
public sealed class HangBoundAttribute(int seconds = HangBoundAttribute.DefaultSeconds) : Attribute, ITestAction
{
    private const int DefaultSeconds = 300;

    public int Seconds => seconds;

    public ActionTargets Targets => ActionTargets.Test;

    public void BeforeTest(ITest test)
    {
        // The assembly's bound gives way to one that stands nearer to the test.
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
