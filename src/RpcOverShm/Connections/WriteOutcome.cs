namespace RpcOverShm.Connections;

/// <summary>What became of the attempt to write a record.</summary>
internal enum WriteOutcome
{
    Written,

    /// <summary>The ring is full.</summary>
    NoSpace,

    /// <summary>The peer has to give the call credit first.</summary>
    NoCredit,
}
