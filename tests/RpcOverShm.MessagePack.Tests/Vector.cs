using Google.Protobuf;

namespace RpcOverShm.MessagePack.Tests;

/// <summary>A message and its bytes as hexadecimal digits.</summary>
internal sealed class Vector<T>(string name, T message, string hex) : IVector
    where T : class, IMessage<T>
{
    public void Check(Way way)
    {
        Assert.That(Codec.Hex(way.Write(message)), Is.EqualTo(hex.Replace(" ", "", StringComparison.Ordinal)));
        Assert.That(way.ReadHex<T>(hex), Is.EqualTo(message));
    }

    public override string ToString() => name;
}

/// <summary>A vector for any type of message.</summary>
public interface IVector
{
    /// <summary>Writes and reads the message, and compares both results.</summary>
    void Check(Way way);
}
