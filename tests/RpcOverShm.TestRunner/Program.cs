using System.CommandLine;
using System.Text;

namespace RpcOverShm.TestRunner;

/// <summary>
/// Runs tests without a test host, which other systems than that of the build may lack: the assemblies are beside this
/// program. It prints each test that fails, and ends with the line "N passed, N failed". The exit code is 0 only if a
/// test passed and none failed.
/// </summary>
internal static class Program
{
    private static readonly Argument<string[]> s_assemblies = new("assemblies")
    {
        Description = "The names of the test assemblies, without '.dll'.",
        Arity = ArgumentArity.OneOrMore,
    };

    private static readonly Option<string[]> s_names =
        Many("--name", "Runs tests whose full name contains this regular expression.");

    private static readonly Option<string[]> s_withoutNames = Many("--without-name", "Runs none of these.");

    private static readonly Option<string[]> s_categories = Many("--category", "Runs tests of these categories.");

    private static readonly Option<string[]> s_withoutCategories = Many("--without-category", "Runs none of these.");

    private static readonly Option<FileInfo?> s_known = new("--known")
    {
        Description = "A file with a line 'NAME # REASON' for each test that must fail. NAME may end with a *.",
    };

    private static readonly Option<int?> s_limit = new("--limit")
    {
        Description = "The seconds after which a test that still runs ends the run, instead of 300.",
    };

    private static readonly Option<int?> s_workers = new("--workers")
    {
        Description = "The number of tests that may run at a time, instead of that of the assembly.",
    };

    private static readonly Option<bool> s_trace = new("--trace")
    {
        Description = "Prints the name of each test that begins, to see which one ends the process.",
    };

    private static int Main(string[] arguments)
    {
        var command = new RootCommand("Runs the NUnit tests of the assemblies beside this program.")
        {
            s_assemblies,
            s_names, s_withoutNames, s_categories, s_withoutCategories,
            s_known, s_limit, s_workers, s_trace,
        };
        command.SetAction(Run);
        Console.OutputEncoding = Encoding.UTF8;
        int result = command.Parse(arguments).Invoke();

        // Threads that a test left behind must not keep the process.
        Console.Out.Flush();
        Environment.Exit(result);
        return result;
    }

    private static int Run(ParseResult parsed)
    {
        // The guard of an assembly has the same limit.
        if (parsed.GetValue(s_limit) is { } seconds)
        {
            Environment.SetEnvironmentVariable("RPCOVERSHM_TEST_HANG_SECONDS", $"{seconds}");
        }

        KnownFailures known = parsed.GetValue(s_known) is { } file ? KnownFailures.Read(file) : new KnownFailures([]);
        var run = new TestRun(
            TestSelection.Of(
                parsed.GetValue(s_names)!,
                parsed.GetValue(s_withoutNames)!,
                parsed.GetValue(s_categories)!,
                parsed.GetValue(s_withoutCategories)!),
            known,
            parsed.GetValue(s_workers),
            parsed.GetValue(s_trace));
        foreach (string assembly in parsed.GetValue(s_assemblies)!)
        {
            run.Add(assembly);
        }

        return run.End() ? 0 : 1;
    }

    private static Option<string[]> Many(string name, string description) => new(name)
    {
        Description = description,
        AllowMultipleArgumentsPerToken = false,
        DefaultValueFactory = _ => [],
    };
}
