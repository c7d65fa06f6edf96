namespace RpcOverShm.Protocol;

/// <summary>
/// Which call a frame belongs to. Chosen by the side that starts the call: a slot of its table, and how often the slot
/// was used, so that a late frame of an ended call is not taken for one of the next.
/// <code>
///  31             17 16                   1  0
///  +----------------+----------------------+---+
///  | generation 1.. |         slot         | S |   S: who started the call, 0 the connecting side, 1 the accepting one
///  +----------------+----------------------+---+
/// </code>
/// A slot is used again only after the other side's <see cref="FrameKind.End"/> was read, and frames keep their order,
/// so the other side meets generations of a slot one after the other. Generation 0 does not occur; 0 is no call at all.
/// </summary>
internal readonly record struct CallId(uint Value)
{
    public const int SlotCount = 1 << 16;

    private const uint LastGeneration = (1 << 15) - 1;

    public CallId(int slot, uint generation, bool isFromAcceptor)
        : this((generation << 17) | ((uint)slot << 1) | (isFromAcceptor ? 1u : 0u))
    {
    }

    /// <summary>Frames that concern the whole connection.</summary>
    public static CallId None => default;

    public int Slot => (int)((Value >> 1) & (SlotCount - 1));

    public uint Generation => Value >> 17;

    public bool IsFromAcceptor => (Value & 1) != 0;

    public bool IsNone => Value == 0;

    /// <summary>The generation that follows; after the last comes 1.</summary>
    public static uint NextGeneration(uint generation) => generation == LastGeneration ? 1 : generation + 1;

    public override string ToString() => $"{Slot}.{Generation}";
}
