using System.Buffers;
using System.Reflection;

namespace MessagePack.Objects;

/// <summary>A field or property that belongs into the message, and where.</summary>
internal sealed record PlannedMember(MemberInfo Member, int Index, string? Key)
{
    internal Type Type => Member is PropertyInfo property ? property.PropertyType : ((FieldInfo)Member).FieldType;

    internal byte[]? EncodedKey => Key is null ? null : Encode(Key);

    private static byte[] Encode(string key)
    {
        var buffer = new ArrayBufferWriter<byte>();
        var writer = new MessagePackWriter(buffer);
        writer.Write(key);
        writer.Flush();
        return buffer.WrittenSpan.ToArray();
    }
}
