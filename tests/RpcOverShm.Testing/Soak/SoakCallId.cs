using System.Globalization;

namespace RpcOverShm.Testing.Soak;

/// <summary>The identity of a call in a soak: no two calls of a run have the same.</summary>
/// <param name="Instance">The client process; a restarted client has a new number.</param>
/// <param name="Worker">The worker of that process.</param>
/// <param name="Sequence">The number of the call at that worker.</param>
/// <param name="IsStorm">Whether the call belongs to a storm of callbacks.</param>
/// <param name="IsCallback">Whether this is the callback that the server makes for the call of these numbers.</param>
public readonly record struct SoakCallId(
    int Instance, int Worker, uint Sequence, bool IsStorm = false, bool IsCallback = false)
{
    private const int SequenceBits = 32;
    private const int WorkerBits = 12;
    private const int InstanceShift = SequenceBits + WorkerBits + 2;
    private const ulong StormBit = 1UL << (SequenceBits + WorkerBits);
    private const ulong CallbackBit = StormBit << 1;

    public ulong Packed => ((ulong)Instance << InstanceShift) | (IsCallback ? CallbackBit : 0)
        | (IsStorm ? StormBit : 0) | ((ulong)Worker << SequenceBits) | Sequence;

    /// <summary>The callback of this call.</summary>
    public SoakCallId Callback => this with { IsCallback = true };

    public static SoakCallId Unpack(ulong packed) => new(
        (int)(packed >> InstanceShift),
        (int)(packed >> SequenceBits) & ((1 << WorkerBits) - 1),
        (uint)packed,
        (packed & StormBit) != 0,
        (packed & CallbackBit) != 0);

    public override string ToString() =>
        string.Create(CultureInfo.InvariantCulture, $"{Instance}.{Worker}.{Sequence}");
}
