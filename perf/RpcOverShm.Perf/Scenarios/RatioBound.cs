using RpcOverShm.Perf.Peer.Loads;

namespace RpcOverShm.Perf.Scenarios;

/// <summary>
/// What a scenario asserts of its figures: a generous bound on the upper end of a ratio's interval. Never on a time: a
/// slow machine is no fault.
/// </summary>
/// <param name="Arm">The arm that is to be fast.</param>
/// <param name="Against">The arm it is compared with.</param>
/// <param name="Caller">The kind of caller.</param>
/// <param name="Cell">The cell in which it is asserted.</param>
/// <param name="TimesFaster">How many times faster it is to be.</param>
internal sealed record RatioBound(string Arm, string Against, CallerKind Caller, string Cell, double TimesFaster);
