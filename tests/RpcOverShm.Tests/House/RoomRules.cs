using Microsoft.CodeAnalysis;
using Microsoft.CodeAnalysis.CSharp;
using Microsoft.CodeAnalysis.CSharp.Syntax;

namespace RpcOverShm.Tests.House;

/// <summary>
/// Finds names in a file that its room must not use. A using is explicit, but a nested namespace also sees its parents
/// without one. Therefore names of root types and of rooms are searched as well.
/// </summary>
internal sealed class RoomRules(RoomTable table, string folder, IReadOnlyList<SourceFile> files)
{
    private const string Assembly = "RpcOverShm";

    // The types of the rooms and of the root, as "Room.Type".
    private readonly HashSet<string> _roomTypes =
    [
        .. files.SelectMany(file =>
            file.TopLevelTypes.Select(type => $"{RoomOf(file, folder)}.{SourceFile.NameOf(type)}")),
    ];

    /// <summary>Rooms that the table lacks, and rooms of the table that do not exist.</summary>
    public IEnumerable<string> UnknownRooms()
    {
        string[] rooms = [.. files.Select(file => RoomOf(file, folder)).Distinct()];
        return rooms.Except(table.Levels.Keys).Select(room => $"The folder {room} is in no table of rooms.")
            .Concat(table.Levels.Keys.Except(rooms).Select(room => $"There is no room {room}."));
    }

    /// <summary>Names that refer to a room which this file's room must not use.</summary>
    public IEnumerable<string> ForbiddenReferences() =>
        from file in files
        let room = RoomOf(file, folder)
        where table.MayUse.ContainsKey(room)
        from reference in References(file)
        where reference.Room != room && reference.Room != RoomTable.FreeForAll
        where !table.MayUse[room].Contains(reference.Room)
        select file.At(reference.Node, $"{room} may not name {reference.Room}: {reference.Node}");

    /// <summary>Unsafe code in rooms where the table does not allow it.</summary>
    public IEnumerable<string> ForbiddenUnsafeCode() =>
        from file in files
        let room = RoomOf(file, folder)
        where !table.MayBeUnsafe.Contains(room)
        from token in file.Root.DescendantTokens()
        where token.IsKind(SyntaxKind.UnsafeKeyword)
        select file.At(token, $"{room} may not be unsafe.");

    /// <summary>Global usings, which would hide dependencies between rooms.</summary>
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

    // "Rings.RingWriter" and "RpcOverShm.Rings.RingWriter" name a room; a property may look the same.
    private string? RoomOf(SyntaxNode left, SimpleNameSyntax right)
    {
        string room = left.ToString().Split('.')[^1];
        return _roomTypes.Contains($"{room}.{right.Identifier.Text}") ? room : null;
    }

    private bool IsRootType(SimpleNameSyntax name) =>
        _roomTypes.Contains($"{RoomTable.RootRoom}.{name.Identifier.Text}");
}
