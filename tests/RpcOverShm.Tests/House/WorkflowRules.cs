using System.Text.RegularExpressions;

namespace RpcOverShm.Tests.House;

/// <summary>
/// Checks the workflow line by line, because no build runs it: its jobs call .ci/run or steps of it, on each of the
/// systems. A job begins with its name, indented by two blanks.
/// </summary>
internal static partial class WorkflowRules
{
    private const string Script = ".ci/run";
    private const string Skip = "--skip";
    private const string SkippedOnUbuntu = "wine";

    private static readonly string[] s_systems =
        ["macos-latest", "ubuntu-24.04-arm", "ubuntu-latest", "windows-11-arm", "windows-latest"];

    private static readonly string[] s_actions = ["actions/checkout", "actions/setup-dotnet"];

    /// <summary>Returns the names of the steps of the script.</summary>
    public static IReadOnlySet<string> StepsOf(SourceFile script) =>
        script.Lines.Select(line => Step().Match(line)).Where(match => match.Success)
            .Select(match => match.Groups["name"].Value).ToHashSet();

    /// <summary>Files and projects that the script names, and that are not there.</summary>
    public static IEnumerable<string> CheckNames(SourceFile script, Func<string, bool> exists) =>
        from line in script.Lines.Index()
        from Match match in Named().Matches(line.Item)
        where !exists(match.Value)
        select script.At(line.Index + 1, $"There is no {match.Value}.");

    /// <summary>Whatever the workflow does or names that it should not, and the systems that it lacks.</summary>
    public static IEnumerable<string> Check(
        SourceFile workflow, IReadOnlySet<string> steps, Func<string, bool> exists)
    {
        string[] systems = [.. Values(workflow, "runs-on").Select(entry => entry.Value)];
        return s_systems.Where(system => !systems.Contains(system))
            .Select(system => workflow.At(1, $"No job runs on {system}."))
            .Concat(CheckShape(workflow))
            .Concat(
                from entry in Values(workflow, "uses")
                where !s_actions.Contains(entry.Value.Split('@')[0])
                select workflow.At(entry.Line, $"'{entry.Value}' is neither {string.Join(" nor ", s_actions)}."))
            .Concat(
                from entry in Values(workflow, @"[\w-]+-file")
                where !exists(entry.Value)
                select workflow.At(entry.Line, $"There is no file {entry.Value}."))
            .Concat(
                from entry in Values(workflow, "run")
                from problem in Problems(entry.Value, SystemAt(workflow, entry.Line), steps)
                select workflow.At(entry.Line, problem));
    }

    // Git's Bash is not the default shell on Windows.
    private static IEnumerable<string> CheckShape(SourceFile workflow)
    {
        if (!Values(workflow, "shell").Select(entry => entry.Value).SequenceEqual(["bash"]))
        {
            yield return workflow.At(1, "All commands need 'shell: bash', once.");
        }

        foreach ((int index, string line) in workflow.Lines.Index())
        {
            if (line.Contains('\t', StringComparison.Ordinal))
            {
                yield return workflow.At(index + 1, "YAML has no tabs.");
            }
        }

        foreach ((int line, string system) in Values(workflow, "runs-on"))
        {
            if (!Values(workflow, "run").Any(run => JobAt(workflow, run.Line) == JobAt(workflow, line)))
            {
                yield return workflow.At(line, $"The job on {system} runs nothing.");
            }
        }
    }

    private static IEnumerable<string> Problems(string command, string system, IReadOnlySet<string> steps)
    {
        Match match = Command().Match(command);
        if (!match.Success)
        {
            return [$"'{command}' is not {Script} with names of steps."];
        }

        string[] words = [.. match.Groups["word"].Captures.Select(word => word.Value.Trim('"'))];
        bool leavesOut = words is [Skip, ..];
        string[] names = leavesOut ? words[1..] : words;
        bool mustLeaveOut = system.StartsWith("ubuntu", StringComparison.Ordinal);
        return names.Where(name => !steps.Contains(name)).Select(name => $"{Script} has no step '{name}'.")
            .Concat(mustLeaveOut && !(leavesOut && names.Contains(SkippedOnUbuntu))
                ? [$"A job on Ubuntu leaves out {SkippedOnUbuntu} by name."]
                : []);
    }

    private static string SystemAt(SourceFile workflow, int line) => Values(workflow, "runs-on")
        .FirstOrDefault(entry => JobAt(workflow, entry.Line) == JobAt(workflow, line)).Value ?? "";

    private static int JobAt(SourceFile workflow, int line) =>
        workflow.Lines.Take(line).Count(text => Job().IsMatch(text));

    private static IEnumerable<(int Line, string Value)> Values(SourceFile workflow, string key) =>
        from line in workflow.Lines.Index()
        let match = Regex.Match(line.Item, $@"^ *(- )?{key}: +(?<value>.+)$")
        where match.Success
        select (line.Index + 1, match.Groups["value"].Value);

    [GeneratedRegex("""^step ("(?<name>[^"]+)"|(?<name>[^" ]+)) .+$""")]
    private static partial Regex Step();

    // A file in one of the folders. What a variable completes is none.
    [GeneratedRegex(@"(?<![\w/.])(eng|perf|proto|samples|src|tests)/[\w./-]*\w")]
    private static partial Regex Named();

    // Packages are installed by root.
    [GeneratedRegex("""^(sudo -E env "PATH=\$PATH" )?\.ci/run( (?<word>--skip|"[\w ,']+"|[\w-]+))*$""")]
    private static partial Regex Command();

    [GeneratedRegex(@"^  [\w-]+:$")]
    private static partial Regex Job();
}
