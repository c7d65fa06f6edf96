namespace RpcOverShm.Connections;

/// <summary>How a connection's own reader thread sleeps, for those who may have to wake it.</summary>
internal enum StandbyState
{
    /// <summary>It runs, and will look for itself before it sleeps.</summary>
    Awake = 0,

    /// <summary>It sleeps on the peer's tail, having asked to be rung.</summary>
    Armed = 1,

    /// <summary>It sleeps on its own latch, because somebody else reads.</summary>
    OnLatch = 2,
}
