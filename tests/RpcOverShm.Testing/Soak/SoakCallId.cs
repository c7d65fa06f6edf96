using System.Globalization;

namespace RpcOverShm.Testing.Soak;

/// <summary>The identity of a call in a soak: no two calls of a run have the same.</summary>
/// <param name="Instance">The client process; a restarted client has a new number.</param>
/// <param name="Worker">The worker of that process.</param>
/// <param name="Sequence">The number of the call at that worker.</param>
public readonly record struct SoakCallId(int Instance, int Worker, uint Sequence)
{
    private const int WorkerBits = 12;

    public ulong Packed => ((((ulong)Instance << WorkerBits) | (uint)Worker) << 32) | Sequence;

    public static SoakCallId Unpack(ulong packed) =>
        new((int)(packed >> (32 + WorkerBits)), (int)(packed >> 32) & ((1 << WorkerBits) - 1), (uint)packed);

    public override string ToString() =>
        string.Create(CultureInfo.InvariantCulture, $"{Instance}.{Worker}.{Sequence}");
}
