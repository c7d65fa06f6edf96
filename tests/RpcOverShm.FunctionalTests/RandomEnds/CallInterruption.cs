namespace RpcOverShm.FunctionalTests.RandomEnds;

/// <summary>What the caller does to its call before it has ended.</summary>
internal enum CallInterruption
{
    None,

    /// <summary>Its token is cancelled.</summary>
    Token,

    /// <summary>It is disposed.</summary>
    Dispose,

    /// <summary>It has a deadline that is soon.</summary>
    Deadline,

    /// <summary>The token of its reads is cancelled.</summary>
    ReadToken,
}
