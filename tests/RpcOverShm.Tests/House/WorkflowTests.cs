namespace RpcOverShm.Tests.House;

/// <summary>The workflow names what is there, and does what anyone can do without it.</summary>
public class WorkflowTests
{
    private const string Good =
        """
        defaults:
          run:
            shell: bash
        jobs:
          ubuntu:
            runs-on: ubuntu-latest
            steps:
              - uses: actions/checkout@v4
              - uses: actions/setup-dotnet@v4
                with:
                  global-json-file: global.json
              - run: sudo -E env "PATH=$PATH" .ci/run --skip wine
          ubuntu-arm:
            runs-on: ubuntu-24.04-arm
            steps:
              - run: .ci/run --skip wine "long tests"
          windows:
            runs-on: windows-latest
            steps:
              - run: .ci/run build "long tests"
          windows-arm:
            runs-on: windows-11-arm
            steps:
              - run: .ci/run
          macos:
            runs-on: macos-latest
            steps:
              - run: .ci/run build
        """;

    private static readonly HashSet<string> s_steps = ["build", "long tests", "wine"];

    [Test]
    public void Workflow_OfThisRepository_CallsStepsThatAreThere() => Findings.AssertNone(WorkflowRules.Check(
        Repository.Read(".github/workflows/ci.yml"),
        WorkflowRules.StepsOf(Repository.Read(".ci/run")),
        Repository.Exists));

    [Test]
    public void Script_OfThisRepository_NamesFilesThatAreThere() =>
        Findings.AssertNone(WorkflowRules.CheckNames(Repository.Read(".ci/run"), Repository.Exists));

    [Test]
    public void Check_OfAGoodWorkflow_FindsNothing() => Assert.That(Check(Good), Is.Empty);

    [TestCase("runs-on: macos-latest", "runs-on: macos-15", "No job runs on macos-latest.")]
    [TestCase("shell: bash", "shell: pwsh", "All commands need 'shell: bash', once.")]
    [TestCase("- run: .ci/run build\n", "- name: build\n", "The job on macos-latest runs nothing.")]
    [TestCase("actions/checkout@v4", "actions/cache@v4", "'actions/cache@v4' is neither actions/checkout nor")]
    [TestCase("global.json\n", "other.json\n", "There is no file other.json.")]
    [TestCase(".ci/run build\n", "dotnet build\n", "'dotnet build' is not .ci/run with names of steps.")]
    [TestCase(".ci/run build\n", ".ci/run build; ls\n", "'.ci/run build; ls' is not .ci/run with names of steps.")]
    [TestCase(".ci/run build\n", "|\n          ls\n", "'|' is not .ci/run with names of steps.")]
    [TestCase(".ci/run build\n", ".ci/run test\n", ".ci/run has no step 'test'.")]
    [TestCase(".ci/run build \"long", ".ci/run build \"short", ".ci/run has no step 'short tests'.")]
    [TestCase("PATH\" .ci/run --skip wine", "PATH\" .ci/run --skip build", "Ubuntu leaves out wine by name.")]
    [TestCase("PATH\" .ci/run --skip wine", "PATH\" .ci/run wine", "Ubuntu leaves out wine by name.")]
    [TestCase("PATH\" .ci/run --skip wine", "PATH\" .ci/run build", "Ubuntu leaves out wine by name.")]
    [TestCase("    steps:", "\tsteps:", "YAML has no tabs.")]
    public void Check_OfABadWorkflow_FindsIt(string good, string bad, string finding)
    {
        string workflow = Good + "\n";
        Assert.That(workflow, Does.Contain(good));

        Assert.That(Check(workflow.Replace(good, bad, StringComparison.Ordinal)), Has.Some.Contains(finding));
    }

    [Test]
    public void CheckNames_OfAScriptThatNamesWhatIsNotThere_FindsIt()
    {
        var script = new SourceFile(
            "run", "dotnet test \"tests/$what\"\nstep build tests/Here/run\nstep \"two words\" tests/Gone/run short\n");

        Assert.That(WorkflowRules.StepsOf(script), Is.EquivalentTo(["build", "two words"]));
        Assert.That(
            WorkflowRules.CheckNames(script, path => path == "tests/Here/run"),
            Is.EqualTo(["run(3): There is no tests/Gone/run."]));
    }

    private static IEnumerable<string> Check(string workflow) => WorkflowRules.Check(
        new SourceFile("ci.yml", workflow), s_steps, path => path == "global.json");
}
