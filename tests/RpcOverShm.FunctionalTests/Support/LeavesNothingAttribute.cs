using NUnit.Framework.Interfaces;

namespace RpcOverShm.FunctionalTests.Support;

/// <summary>
/// Fails a test that leaves threads or mappings of the library behind after its fixture has cleaned up. Otherwise only
/// the leak tests, which run much later, would fail.
/// </summary>
[AttributeUsage(AttributeTargets.Assembly)]
public sealed class LeavesNothingAttribute : Attribute, ITestAction
{
    // The leftovers of earlier tests, which have already failed for them.
    private int _threads;
    private int _mappings;
    private ProcessFacts _left = new(0, 0, 0, 0);

    public ActionTargets Targets => ActionTargets.Test;

    public void BeforeTest(ITest test)
    {
    }

    public void AfterTest(ITest test)
    {
        if (test.IsSuite)
        {
            return;
        }

        try
        {
            Timeouts.Eventually(IsNothingLeft, "the test leaves no threads and no mappings").GetAwaiter().GetResult();
        }
        catch (TimeoutException exception)
        {
            throw new TimeoutException($"{exception.Message}; there are {_left}.", exception);
        }
        finally
        {
            _threads = _left.Threads;
            _mappings = _left.Mappings;
        }
    }

    private bool IsNothingLeft()
    {
        _left = ProcessFacts.OfSelf();
        return _left.Threads <= _threads && _left.Mappings <= _mappings;
    }
}
