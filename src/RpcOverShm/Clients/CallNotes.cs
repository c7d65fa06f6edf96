namespace RpcOverShm.Clients;

/// <summary>What a call notes of itself, all in one byte: a call's size is the cost of every call.</summary>
[Flags]
internal enum CallNotes : byte
{
    None = 0,

    /// <summary>How often it was started anew.</summary>
    Renewals = 3,

    /// <summary>A server that leaves has ended it before a method saw it.</summary>
    IsRefused = 4,

    /// <summary>Its responses have a mark of their encoding.</summary>
    IsEncoded = 8,

    /// <summary>The mark may say that one is compressed.</summary>
    MayBeCompressed = 16,

    /// <summary>A response was parsed where it lay in the ring.</summary>
    IsParsed = 32,
}
