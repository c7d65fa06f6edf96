namespace RpcOverShm.MessagePack.Tests;

/// <summary>A message of some type, and its bytes.</summary>
public interface IVector
{
    /// <summary>Writes and reads the message.</summary>
    void Check(Way way);
}
