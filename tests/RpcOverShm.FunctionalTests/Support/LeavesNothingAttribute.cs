using NUnit.Framework.Interfaces;
using RpcOverShm.Scheduling;

namespace RpcOverShm.FunctionalTests.Support;

/// <summary>
/// Fails a test that leaves threads, mappings or listeners of the library behind after its fixture has cleaned up.
/// Otherwise only the leak tests, which run much later, would fail. What fixtures that run at once leave, the first
/// other test finds.
/// </summary>
[AttributeUsage(AttributeTargets.Assembly)]
public sealed class LeavesNothingAttribute : Attribute, ITestAction
{
    // The leftovers of earlier tests, which have already failed for them.
    private int _threads;
    private int _mappings;
    private int _doors; // listeners, and handshakes that wait
    private (int Threads, int Mappings, int Doors) _left;
    private volatile bool _isAnyRunningAtOnce;

    public ActionTargets Targets => ActionTargets.Test;

    public void BeforeTest(ITest test)
    {
        if (RunsAtOnce(test))
        {
            _isAnyRunningAtOnce = true;
        }
        else if (_isAnyRunningAtOnce)
        {
            _isAnyRunningAtOnce = false;
            WaitUntilNothingIsLeft("the fixtures that ran at once leave no threads, mappings and listeners");
        }
    }

    public void AfterTest(ITest test)
    {
        if (!test.IsSuite && !RunsAtOnce(test))
        {
            WaitUntilNothingIsLeft("the test leaves no threads, mappings and listeners");
        }
    }

    // NonParallelizable is a Parallelizable too, whose scope is none.
    private static bool RunsAtOnce(ITest test) =>
        test.TypeInfo?.GetCustomAttributes<ParallelizableAttribute>(inherit: true)
            .Any(attribute => attribute.Scope != ParallelScope.None) == true;

    private void WaitUntilNothingIsLeft(string what)
    {
        try
        {
            Timeouts.Eventually(IsNothingLeft, what).GetAwaiter().GetResult();
        }
        catch (TimeoutException exception)
        {
            throw new TimeoutException(
                $"{exception.Message}; there are {ProcessFacts.OfSelf()} and {_left.Doors} listeners or handshakes.",
                exception);
        }
        finally
        {
            (_threads, _mappings, _doors) = _left;
        }
    }

    // Runs after each of thousands of tests, so it reads no more than it needs.
    private bool IsNothingLeft()
    {
        _left = (ProcessFacts.CountThreads(), ProcessResources.CountSegmentMappings(), EventLoop.Door.Count);
        return _left.Threads <= _threads && _left.Mappings <= _mappings && _left.Doors <= _doors;
    }
}
