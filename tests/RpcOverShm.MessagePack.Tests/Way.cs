namespace RpcOverShm.MessagePack.Tests;

/// <summary>How a message is written and read. Every rule holds for both ways.</summary>
public enum Way
{
    /// <summary>By code that was compiled for its type.</summary>
    Compiled,

    /// <summary>By its descriptor, as where code can't be compiled.</summary>
    Described,
}
