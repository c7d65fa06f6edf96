using System.Text.RegularExpressions;

namespace RpcOverShm.Tests.House;

/// <summary>
/// The rooms of the runtime assembly: the level of each, and the rooms that it may use. Every room may also use itself
/// and Diagnostics. Files outside of any folder form the room "root".
/// </summary>
internal sealed partial record RoomTable(
    IReadOnlyDictionary<string, int> Levels, IReadOnlyDictionary<string, string[]> MayUse, string[] MayBeUnsafe)
{
    public const string RootRoom = "root";
    public const string FreeForAll = "Diagnostics";

    /// <summary>The table that the tests enforce. The document must contain the same.</summary>
    public static RoomTable Enforced { get; } = new(
        new Dictionary<string, int>
        {
            ["Systems"] = 0,
            ["Buffers"] = 0,
            ["Diagnostics"] = 0,
            ["Segments"] = 1,
            ["Protocol"] = 1,
            ["Scheduling"] = 1,
            ["Rings"] = 2,
            ["Loans"] = 2,
            ["Linux"] = 2,
            ["Windows"] = 2,
            ["Links"] = 4,
            ["Topics"] = 3,
            ["Streams"] = 5,
            ["Connections"] = 5,
            ["Calls"] = 6,
            ["Clients"] = 7,
            ["Servers"] = 7,
            ["Retries"] = 8,
            [RootRoom] = 9,
        },
        new Dictionary<string, string[]>
        {
            ["Systems"] = [],
            ["Buffers"] = [],
            ["Diagnostics"] = [],
            ["Segments"] = ["Systems"],
            ["Protocol"] = ["Buffers"],
            ["Scheduling"] = ["Systems"],
            ["Rings"] = ["Segments", "Systems"],
            ["Loans"] = ["Protocol", "Buffers", "Systems"],
            ["Topics"] = ["Rings", "Segments", "Protocol", "Buffers", "Systems"],
            ["Linux"] = ["Protocol", "Systems"],
            ["Windows"] = ["Protocol", "Systems"],
            ["Links"] = ["Topics", "Rings", "Loans", "Scheduling", "Segments", "Protocol", "Systems"],
            ["Streams"] = ["Links", "Rings", "Scheduling", "Protocol", "Systems"],
            ["Connections"] =
                ["Links", "Topics", "Rings", "Loans", "Scheduling", "Segments", "Protocol", "Buffers", "Systems"],
            ["Calls"] = ["Connections", "Links", "Scheduling", "Protocol", "Segments", "Buffers", "Systems"],
            ["Clients"] = ["Calls", "Connections", "Links", "Scheduling", "Protocol", "Buffers", "Systems"],
            ["Servers"] = ["Calls", "Connections", "Links", "Topics", "Scheduling", "Protocol", "Buffers", "Systems"],
            ["Retries"] = ["Clients", "Calls", "Scheduling"],
            [RootRoom] =
            [
                "Retries", "Clients", "Servers", "Calls", "Connections", "Streams", "Links", "Scheduling", "Protocol",
                "Topics", "Loans", "Segments", "Buffers", "Systems", "Linux", "Windows",
            ],
        },
        ["Systems", "Linux", "Windows", "Segments", "Rings", "Topics"]);

    /// <summary>Reads the picture, the table and the sentence about unsafe code in src/ARCHITECTURE.md.</summary>
    public static RoomTable Parse(string markdown)
    {
        var mayUse = new Dictionary<string, string[]>();
        foreach (string[] row in MarkdownTable.RowsUnder(markdown, "## Rooms"))
        {
            foreach (string room in Names(row[0]))
            {
                mayUse.Add(room, Names(row[1]));
            }
        }

        var levels = new Dictionary<string, int>();
        foreach (Match line in LevelLine().Matches(markdown))
        {
            foreach (string word in line.Groups[2].Value.Split(' ').Where(mayUse.ContainsKey))
            {
                levels.Add(word, line.Groups[1].Value[0] - '0');
            }
        }

        return new RoomTable(levels, mayUse, Names(UnsafeSentence().Match(markdown).Groups[1].Value));
    }

    /// <summary>Returns one line for each statement of the table, in a fixed order.</summary>
    public string[] Describe() =>
    [
        .. Levels.Select(level => $"{level.Key} has level {level.Value}")
            .Concat(MayUse.SelectMany(room => room.Value.Select(used => $"{room.Key} may use {used}")))
            .Concat(MayUse.Keys.Select(room => $"{room} is a room"))
            .Concat(MayBeUnsafe.Select(room => $"{room} may be unsafe"))
            .Order(StringComparer.Ordinal),
    ];

    /// <summary>Dependencies that do not point to a lower level.</summary>
    public IEnumerable<string> Misdirected() =>
        from room in MayUse
        from used in room.Value
        where Levels[used] >= Levels[room.Key]
        select $"{room.Key} (level {Levels[room.Key]}) may use {used} (level {Levels[used]})";

    private static string[] Names(string cell) =>
        [.. cell.Replace(" and ", ", ", StringComparison.Ordinal).Split(',', StringSplitOptions.TrimEntries)
            .Where(name => name is not ("-" or ""))];

    [GeneratedRegex(@"^([0-9])  (\S.*)$", RegexOptions.Multiline)]
    private static partial Regex LevelLine();

    [GeneratedRegex("`unsafe` occurs in ([^.]*) only")]
    private static partial Regex UnsafeSentence();
}
