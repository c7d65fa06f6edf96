namespace RpcOverShm.Protocol;

/// <summary>
/// The id of the call that a frame belongs to. The side that starts the call chooses a slot of its table; the
/// generation counts the slot's uses, so that a late frame of an ended call is not taken for a frame of the next call
/// (ABA tag).
/// <code>
///  31             17 16                   1  0
///  +----------------+----------------------+---+
///  | generation 1.. |         slot         | S |   S: side that started the call, 0 connecting, 1 accepting
///  +----------------+----------------------+---+
/// </code>
/// A slot is reused only after the other side's <see cref="FrameKind.End"/> was read. Frames keep their order, so the
/// other side sees the generations of a slot one after another.
/// Generation 0 does not occur; the id 0 means no call.
/// </summary>
internal readonly record struct CallId(uint Value)
{
    public const int SlotCount = 1 << 16;

    private const uint LastGeneration = (1 << 15) - 1;

    public CallId(int slot, uint generation, bool isFromAcceptor)
        : this((generation << 17) | ((uint)slot << 1) | (isFromAcceptor ? 1u : 0u))
    {
    }

    /// <summary>The id of frames that concern the whole connection.</summary>
    public static CallId None => default;

    public int Slot => (int)((Value >> 1) & (SlotCount - 1));

    public uint Generation => Value >> 17;

    public bool IsFromAcceptor => (Value & 1) != 0;

    public bool IsNone => Value == 0;

    /// <summary>Returns the next generation; 1 follows the last.</summary>
    public static uint NextGeneration(uint generation) => generation == LastGeneration ? 1 : generation + 1;

    public override string ToString() => $"{Slot}.{Generation}";
}
