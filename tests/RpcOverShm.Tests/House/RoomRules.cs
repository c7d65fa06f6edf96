using Microsoft.CodeAnalysis;
using Microsoft.CodeAnalysis.CSharp;
using Microsoft.CodeAnalysis.CSharp.Syntax;

namespace RpcOverShm.Tests.House;

/// <summary>
/// Finds what a file names that its room may not see. A using says so openly; but a nested namespace also sees its
/// parents without one, so names of root types and of rooms are looked for as well.
/// </summary>
internal sealed class RoomRules(RoomTable table, string folder, IReadOnlyList<SourceFile> files)
{
    private const string Assembly = "RpcOverShm";

    // Which room a type stands in, by "Room.Type", and which types are the root's.
    private readonly HashSet<string> _roomTypes =
    [
        .. files.SelectMany(file =>
            file.TopLevelTypes.Select(type => $"{RoomOf(file, folder)}.{SourceFile.NameOf(type)}")),
    ];

    /// <summary>Rooms that the table does not know, and rooms of the table that are not there.</summary>
    public IEnumerable<string> UnknownRooms()
    {
        string[] rooms = [.. files.Select(file => RoomOf(file, folder)).Distinct()];
        return rooms.Except(table.Levels.Keys).Select(room => $"The folder {room} is in no table of rooms.")
            .Concat(table.Levels.Keys.Except(rooms).Select(room => $"There is no room {room}."));
    }

    /// <summary>Names that stand for a room which the file's own may not use.</summary>
    public IEnumerable<string> ForbiddenReferences() =>
        from file in files
        let room = RoomOf(file, folder)
        where table.MayUse.ContainsKey(room)
        from reference in References(file)
        where reference.Room != room && reference.Room != RoomTable.FreeForAll
        where !table.MayUse[room].Contains(reference.Room)
        select file.At(reference.Node, $"{room} may not name {reference.Room}: {reference.Node}");

    /// <summary>Unsafe code where the table allows none.</summary>
    public IEnumerable<string> ForbiddenUnsafeCode() =>
        from file in files
        let room = RoomOf(file, folder)
        where !table.MayBeUnsafe.Contains(room)
        from token in file.Root.DescendantTokens()
        where token.IsKind(SyntaxKind.UnsafeKeyword)
        select file.At(token, $"{room} may not be unsafe.");

    /// <summary>Usings that hold in every file hide the arrows.</summary>
    public IEnumerable<string> GlobalUsings() =>
        from file in files
        from directive in file.Root.Usings
        where directive.GlobalKeyword.IsKind(SyntaxKind.GlobalKeyword)
        select file.At(directive, "A global using hides which room uses which.");

    private static string RoomOf(SourceFile file, string folder)
    {
        string[] parts = file.Path[(folder.Length + 1)..].Split('/');
        return parts.Length == 1 ? RoomTable.RootRoom : parts[0];
    }

    private IEnumerable<(string Room, SyntaxNode Node)> References(SourceFile file)
    {
        foreach (SyntaxNode node in file.Root.DescendantNodes())
        {
            string? room = node switch
            {
                UsingDirectiveSyntax { NamespaceOrType: { } name } => RoomInUsing(name.ToString()),
                QualifiedNameSyntax { Left: var left, Right: var right } => RoomOf(left, right),
                MemberAccessExpressionSyntax { Expression: var left, Name: var right } => RoomOf(left, right),
                SimpleNameSyntax name when IsRootType(name) => RoomTable.RootRoom,
                _ => null,
            };
            if (room is not null)
            {
                yield return (room, node);
            }
        }
    }

    private static string? RoomInUsing(string name)
    {
        string[] parts = name.Replace("global::", "", StringComparison.Ordinal).Split('.');
        return parts[0] != Assembly ? null : parts.Length == 1 ? RoomTable.RootRoom : parts[1];
    }

    // "Rings.RingWriter" and "RpcOverShm.Rings.RingWriter"; what only looks like a room is a property.
    private string? RoomOf(SyntaxNode left, SimpleNameSyntax right)
    {
        string room = left.ToString().Split('.')[^1];
        return _roomTypes.Contains($"{room}.{right.Identifier.Text}") ? room : null;
    }

    private bool IsRootType(SimpleNameSyntax name) =>
        _roomTypes.Contains($"{RoomTable.RootRoom}.{name.Identifier.Text}");
}
