namespace RpcOverShm.MessagePack.Tests;

/// <summary>The implementation that reads and writes messages. Every rule holds for both.</summary>
public enum Way
{
    /// <summary>Code compiled for the message's type.</summary>
    Compiled,

    /// <summary>The message's descriptor, for platforms that cannot compile code at run time.</summary>
    Described,
}
