namespace RpcOverShm.Connections;

/// <summary>What became of the attempt to start a call.</summary>
internal enum StartOutcome
{
    Started,

    /// <summary>The connection is closed.</summary>
    Closed,

    /// <summary>The call was given up before it was sent.</summary>
    GivenUp,

    /// <summary>As many calls live as the peer takes at a time.</summary>
    TooManyCalls,
}
