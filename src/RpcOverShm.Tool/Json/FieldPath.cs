namespace RpcOverShm.Tool.Json;

/// <summary>The way from a message to a place inside it, such as <c>notes[3].tags</c>. Immutable.</summary>
internal sealed class FieldPath
{
    /// <summary>The number of messages that may be nested, as in Google.Protobuf.</summary>
    public const int MaxDepth = 100;

    private readonly FieldPath? _parent;
    private readonly string _step;

    private FieldPath(FieldPath? parent, string step, int depth)
    {
        _parent = parent;
        _step = step;
        Depth = depth;
    }

    /// <summary>The place of the message itself.</summary>
    public static FieldPath Root { get; } = new(null, "", 1);

    /// <summary>The number of messages around this place.</summary>
    public int Depth { get; }

    public FieldPath Field(string name) => new(this, _parent is null ? name : "." + name, Depth + 1);

    public FieldPath Index(int index) => new(this, $"[{index}]", Depth);

    public FieldPath Key(string key) => new(this, $"[\"{key}\"]", Depth);

    public override string ToString() => _parent is null ? "the message" : _parent.Text() + _step;

    private string Text() => _parent is null ? "" : _parent.Text() + _step;
}
