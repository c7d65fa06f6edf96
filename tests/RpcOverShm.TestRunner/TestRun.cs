using System.Reflection;
using NUnit;
using NUnit.Framework.Api;
using NUnit.Framework.Interfaces;
using NUnit.Framework.Internal;
using RpcOverShm.Testing;

namespace RpcOverShm.TestRunner;

/// <summary>Runs the selected tests of one assembly after another, and prints what fails when it fails.</summary>
internal sealed class TestRun(TestFilter selection, KnownFailures known, int? workers, bool isTraced) : ITestListener
{
    private int _passed;
    private int _failed;
    private int _known;
    private int _skipped;

    /// <summary>Runs the tests of an assembly beside this program.</summary>
    public void Add(string assembly)
    {
        var settings = new Dictionary<string, object>();
        if (workers is { } number)
        {
            settings[FrameworkPackageSettings.NumberOfTestWorkers] = number;
        }

        var runner = new NUnitTestAssemblyRunner(new DefaultTestAssemblyBuilder());
        ITest tests = runner.Load(Assembly.Load(assembly), settings);
        if (tests.RunState != RunState.Runnable)
        {
            Fail(assembly, $"NUnit does not run it: {tests.Properties.Get(PropertyNames.SkipReason)}");
            return;
        }

        string[] names = [.. TestsOf(tests).Select(test => test.FullName)];
        foreach (KnownFailure entry in known.WithoutTest(assembly, names))
        {
            Fail(entry.Name, "It is known to fail, and there is no such test. Take it out of the list.");
        }

        Console.WriteLine($"{assembly}: {runner.CountTestCases(selection)} of {tests.TestCaseCount} tests");
        runner.Run(this, selection);
    }

    /// <summary>Prints the sums. Returns whether all is as it must be.</summary>
    public bool End()
    {
        Console.WriteLine($"{_known} known failures, {_skipped} skipped");
        Console.WriteLine($"{_passed} passed, {_failed} failed");
        return _passed > 0 && _failed == 0;
    }

    public void TestStarted(ITest test)
    {
        if (test.IsSuite)
        {
            return;
        }

        HangWatchdog.Begin(test.FullName, Timeouts.Hang);
        if (isTraced)
        {
            Console.WriteLine($"> {test.FullName}");
        }
    }

    public void TestFinished(ITestResult result)
    {
        if (result.Test.IsSuite)
        {
            // The tests of a fixture whose beginning fails are reported; its end is nobody's.
            if (result.ResultState is { Status: TestStatus.Failed, Site: FailureSite.TearDown })
            {
                Fail(result.FullName, result.Message, result.StackTrace ?? "");
            }

            return;
        }

        HangWatchdog.End(result.FullName);
        switch (result.ResultState.Status)
        {
            case TestStatus.Failed when known.Find(result.FullName) is { } entry:
                Interlocked.Increment(ref _known);
                Console.WriteLine($"Known: {result.FullName}: {entry.Reason}");
                break;
            case TestStatus.Failed:
                Fail(result.FullName, result.Message, $"{result.StackTrace}\n{result.Output}");
                break;
            case TestStatus.Passed or TestStatus.Warning when known.Find(result.FullName) is { } entry:
                Fail(result.FullName, $"It passes, and is known to fail: {entry.Reason} Take it out of the list.");
                break;
            case TestStatus.Passed or TestStatus.Warning:
                Interlocked.Increment(ref _passed);
                break;
            default:
                Interlocked.Increment(ref _skipped);
                Console.WriteLine($"Skipped: {result.FullName}: {result.Message}");
                break;
        }
    }

    public void TestOutput(TestOutput output)
    {
        // That of a test that fails is printed with it, but for what is told while it runs.
        if (output.Stream == "Progress")
        {
            Console.Write(output.Text);
        }
    }

    public void SendMessage(TestMessage message)
    {
        // Nobody sends one.
    }

    private static IEnumerable<ITest> TestsOf(ITest test) => test.IsSuite ? test.Tests.SelectMany(TestsOf) : [test];

    // In the form of "dotnet test", which those know that read its logs.
    private void Fail(string name, string? message, string stackTrace = "")
    {
        Interlocked.Increment(ref _failed);
        Console.WriteLine($"  Failed {name}\n  Error Message:\n   {message}\n  Stack Trace:\n{stackTrace}");
    }
}
