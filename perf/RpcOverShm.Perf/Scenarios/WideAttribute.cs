using NUnit.Framework.Interfaces;
using NUnit.Framework.Internal;
using RpcOverShm.Perf.Recording;

namespace RpcOverShm.Perf.Scenarios;

/// <summary>
/// A scenario that a plain run leaves out, because a plain run takes less than ten minutes: it runs where it is chosen
/// by its category, or where the whole suite was asked for.
/// </summary>
[AttributeUsage(AttributeTargets.Class | AttributeTargets.Method)]
public sealed class WideAttribute : Attribute, IApplyToTest
{
    public void ApplyToTest(Test test)
    {
        if (!PerfSettings.IsWide && test.RunState == RunState.Runnable)
        {
            test.RunState = RunState.Explicit;
            test.Properties.Set(
                PropertyNames.SkipReason, $"Only by its category, or with {PerfSettings.WideVariable}=1.");
        }
    }
}
