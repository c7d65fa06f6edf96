using System.Reflection;
using RpcOverShm.Diagnostics;

namespace RpcOverShm.Tests.House;

/// <summary>docs/observability.md has all names and all log entries of the code.</summary>
public class ObservabilityTests
{
    private const string Page = "docs/observability.md";
    private const string Code = """
        static partial class Log
        {
            [LoggerMessage(1, LogLevel.Debug, "One {A} " + "and {B}.")]
            static partial void One();

            [LoggerMessage(EventId = 2, Message = "Two")]
            static partial void Two();
        }
        """;

    [Test]
    public void LogEntries_OfTheCode_AreInTheTable()
    {
        LogMessage[] messages =
            [.. Repository.Sources("src").SelectMany(LogTable.Messages)];

        Assert.That(messages, Has.Length.GreaterThan(20));
        Findings.AssertNone(
            LogTable.Check(messages, MarkdownTable.RowsUnder(Repository.Read(Page).Text, "## Log entries")));
    }

    [Test]
    public void Names_OfTracesAndMetrics_AreOnThePage()
    {
        string page = Repository.Read(Page).Text;
        string[] names =
        [
            .. typeof(TelemetryNames).GetFields(BindingFlags.Public | BindingFlags.Static)
                .Select(field => (string)field.GetRawConstantValue()!),
        ];

        Assert.That(names, Has.Length.GreaterThan(20));
        Assert.That(names.Where(name => !page.Contains($"`{name}`", StringComparison.Ordinal)), Is.Empty);
    }

    [Test]
    public void Messages_OfASample_AreFound() => Assert.That(
        LogTable.Messages(new SourceFile("Log.cs", Code)).Select(message => message.ToString()),
        Is.EqualTo(["1 | Debug | One {A} and {B}.", "2 | varies | Two"]));

    [TestCase("1 | Debug | One {A} and {B}. | is | do", "no row: 2 ")]
    [TestCase("1 | Debug | One. | is | do\n2 | varies | Two | is | do", "no such message: 1 ")]
    [TestCase("2 | varies | Two | is | do\n1 | Debug | One {A} and {B}. | is | do", "order of the ids")]
    [TestCase("1 | Debug | One {A} and {B}. | is | do\n2 | varies | Two | is", "what to do: 2")]
    public void Check_OfAWrongTable_FindsIt(string table, string finding) => Assert.That(
        LogTable.Check(
            LogTable.Messages(new SourceFile("Log.cs", Code)),
            [.. table.Split('\n').Select(row => row.Split(" | "))]),
        Has.Some.Contains(finding));

    [Test]
    public void Check_OfAnIdThatIsUsedTwice_FindsIt() => Assert.That(
        LogTable.Check([new LogMessage(1, "Debug", "a"), new LogMessage(1, "Debug", "b")], []),
        Has.Some.Contains("Id 1 is used twice."));
}
