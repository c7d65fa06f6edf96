namespace RpcOverShm.Calls;

/// <summary>The encoding with whose mark every message of one side of a call begins.</summary>
internal enum MessageMark : byte
{
    /// <summary>The messages have no mark.</summary>
    None,

    /// <summary>No message is compressed.</summary>
    Identity,

    /// <summary>Each message may be compressed.</summary>
    Gzip,
}
