namespace RpcOverShm.Connections;

/// <summary>The bounds of waits that no correct run relies on.</summary>
internal static class WaitBounds
{
    /// <summary>
    /// The longest that any thread sleeps without looking again: a guard against a peer that withholds rings, suspended
    /// machines and mistakes of our own. Every case in which it finds something to do is counted and logged.
    /// </summary>
    public static readonly TimeSpan Backstop = TimeSpan.FromSeconds(1);
}
