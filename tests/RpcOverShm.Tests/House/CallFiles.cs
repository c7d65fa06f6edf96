using System.Text;
using System.Text.RegularExpressions;

namespace RpcOverShm.Tests.House;

/// <summary>The files in which a blocking call works, by side, as CONTRIBUTING.md lists them.</summary>
internal sealed partial record CallFiles(string[] Client, string[] Server, string[] Both, string[] AtTimes)
{
    private const string Document = "CONTRIBUTING.md";
    private const string Folder = "src/RpcOverShm";
    private const string Heading = "## The files of a blocking call";
    private const double Mostly = 0.5;
    private const int LineLength = 120;

    // A name stands once in the folder.
    private static readonly Dictionary<string, TracedFile> s_files = Repository.Sources(Folder)
        .Where(file => file.Path.StartsWith(Folder + "/", StringComparison.Ordinal))
        .Select(file => new TracedFile(file.Path[(Folder.Length + 1)..]))
        .ToDictionary(file => file.Name);

    private IEnumerable<string> Always => [.. Client, .. Server, .. Both];

    /// <summary>Reads the list of the document.</summary>
    public static CallFiles OfDocument()
    {
        string section = Repository.Read(Document).Text.Split(Heading)[1].Split("\n## ")[0];
        return new CallFiles(Names("Client"), Names("Server"), Names("Both"), Names("At times"));

        string[] Names(string title)
        {
            string line = section.Split($"* **{title}**:")[1].Split("\n*")[0];
            return [.. Name().Matches(line).Select(name => name.Groups[1].Value)];
        }
    }

    /// <summary>
    /// Returns the list of the traced calls. A file that the list of the document has for some calls stays there.
    /// </summary>
    public static CallFiles Of(CallTrace client, CallTrace server, CallFiles listed)
    {
        string[] atTimes = [.. listed.AtTimes.Where(s_files.ContainsKey)];
        string[] inClient = [.. NamesIn(client.AwakeCalls, Mostly).Except(atTimes)];
        string[] inServer = [.. NamesIn(server.AwakeCalls, Mostly).Except(atTimes)];
        string[] inMost = [.. NamesIn(client.Calls, Mostly), .. NamesIn(server.Calls, Mostly)];
        return new CallFiles(
            [.. inClient.Except(inServer)],
            [.. inServer.Except(inClient)],
            [.. inClient.Intersect(inServer)],
            [.. atTimes.Union(inMost.Except(inClient).Except(inServer))]);
    }

    /// <summary>Compares the list with the traced calls.</summary>
    public IEnumerable<string> Check(CallTrace client, CallTrace server)
    {
        foreach (string name in Always.Concat(AtTimes).Where(name => !s_files.ContainsKey(name)))
        {
            yield return $"There is no file {name}.";
        }

        IEnumerable<string> ofSides = Check("client", [.. Client, .. Both], client)
            .Concat(Check("server", [.. Server, .. Both], server));
        foreach (string finding in ofSides)
        {
            yield return finding;
        }
    }

    /// <summary>Returns the list as the document has it.</summary>
    public override string ToString() => string.Join(
        '\n', Line("Client", Client), Line("Server", Server), Line("Both", Both), Line("At times", AtTimes));

    private IEnumerable<string> Check(string side, string[] listed, CallTrace trace) =>
        listed.Except(NamesIn(trace.Calls, share: 0)).Select(name => $"No call of the {side} works in {name}.")
            .Concat(NamesIn(trace.Calls, Mostly).Except(listed).Except(AtTimes)
                .Select(name => $"The {side} works in {name}, which is not listed."));

    private static IEnumerable<string> NamesIn(IReadOnlyCollection<TracedCall> calls, double share) =>
        CallTrace.FilesIn(calls, share).Select(file => file.Name);

    // By room, the highest first.
    private static string Line(string title, string[] names)
    {
        IEnumerable<string> rooms = names.Select(name => s_files[name])
            .GroupBy(file => file.Room)
            .OrderByDescending(room => room.First().Level)
            .ThenBy(room => room.Key, StringComparer.Ordinal)
            .Select(room => $"{room.Key} " + string.Join(
                ", ", room.Select(file => file.Name).Order(StringComparer.Ordinal).Select(name => $"`{name}`")));
        var text = new StringBuilder("*");
        int length = 1;
        foreach (string word in $"**{title}**: {string.Join("; ", rooms)}".Split(' '))
        {
            bool isNewLine = length + 1 + word.Length > LineLength;
            text.Append(isNewLine ? "\n  " : " ").Append(word);
            length = (isNewLine ? 2 : length + 1) + word.Length;
        }

        return text.ToString();
    }

    [GeneratedRegex("`([^`]+)`")]
    private static partial Regex Name();
}
