namespace RpcOverShm.Connections;

/// <summary>How a turn at the ring ended.</summary>
internal enum TurnOutcome
{
    /// <summary>Nothing waits that could go on.</summary>
    Idle,

    /// <summary>More can go on at once.</summary>
    More,

    /// <summary>The ring is full.</summary>
    NoSpace,
}
