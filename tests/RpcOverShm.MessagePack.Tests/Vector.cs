using Google.Protobuf;

namespace RpcOverShm.MessagePack.Tests;

/// <summary>A message and its bytes in hexadecimal digits.</summary>
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

/// <summary>A message of some type, and its bytes.</summary>
public interface IVector
{
    /// <summary>Writes and reads the message.</summary>
    void Check(Way way);
}
