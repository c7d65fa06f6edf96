using NUnit.Framework.Interfaces;

namespace RpcOverShm.FunctionalTests.Support;

/// <summary>
/// Fails a test that leaves threads or mappings of the library behind after its fixture has cleaned up. Otherwise only
/// the leak tests, which run much later, would fail. What fixtures that run at once leave, the first other test finds.
/// </summary>
[AttributeUsage(AttributeTargets.Assembly)]
public sealed class LeavesNothingAttribute : Attribute, ITestAction
{
    // The leftovers of earlier tests, which have already failed for them.
    private int _threads;
    private int _mappings;
    private (int Threads, int Mappings) _left;
    private bool _isAnyRunningAtOnce = true;

    public ActionTargets Targets => ActionTargets.Test;

    public void BeforeTest(ITest test)
    {
        if (_isAnyRunningAtOnce && !RunsAtOnce(test))
        {
            _isAnyRunningAtOnce = false;
            WaitUntilNothingIsLeft("the fixtures that ran at once leave no threads and no mappings");
        }
    }

    public void AfterTest(ITest test)
    {
        if (!test.IsSuite && !RunsAtOnce(test))
        {
            WaitUntilNothingIsLeft("the test leaves no threads and no mappings");
        }
    }

    private static bool RunsAtOnce(ITest test) =>
        test.TypeInfo?.IsDefined<ParallelizableAttribute>(inherit: true) == true;

    private void WaitUntilNothingIsLeft(string what)
    {
        try
        {
            Timeouts.Eventually(IsNothingLeft, what).GetAwaiter().GetResult();
        }
        catch (TimeoutException exception)
        {
            throw new TimeoutException($"{exception.Message}; there are {ProcessFacts.OfSelf()}.", exception);
        }
        finally
        {
            (_threads, _mappings) = _left;
        }
    }

    // Runs after each of thousands of tests, so it reads no more than it needs.
    private bool IsNothingLeft()
    {
        _left = (ProcessFacts.CountThreads(), ProcessResources.CountSegmentMappings());
        return _left.Threads <= _threads && _left.Mappings <= _mappings;
    }
}
