using System.Globalization;

namespace RpcOverShm.Tests.House;

/// <summary>A table of offsets in proto/PROTOCOL.md: offset, size, field, and further columns.</summary>
internal sealed class LayoutTable
{
    private readonly IReadOnlyList<string[]> _rows;

    private LayoutTable(IReadOnlyList<string[]> rows) => _rows = rows;

    public IReadOnlyList<LayoutField> Fields => [.. _rows.Select(ToField)];

    /// <summary>Returns the fields whose fourth column names this writer.</summary>
    public IReadOnlyList<LayoutField> WrittenBy(string writer) =>
        [.. _rows.Where(row => row[3] == writer).Select(ToField)];

    public static LayoutTable Parse(string markdown, string heading) =>
        new(MarkdownTable.RowsUnder(markdown, heading));

    private static LayoutField ToField(string[] row) => new(
        row[2], int.Parse(row[0], CultureInfo.InvariantCulture), int.Parse(row[1], CultureInfo.InvariantCulture));
}

/// <summary>A field that two processes share, read from the protocol's page or from the code.</summary>
internal sealed record LayoutField(string Name, int Offset, int Size)
{
    public const string Reserved = "Reserved";

    public int End => Offset + Size;

    public override string ToString() => $"{Name} at {Offset}, {Size} bytes";
}
