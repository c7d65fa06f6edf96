using System.Collections.Concurrent;
using Google.Protobuf;
using Google.Protobuf.Reflection;
using RpcOverShm.MessagePack.Wire;

namespace RpcOverShm.MessagePack.Messages;

/// <summary>
/// Reads and writes messages by their descriptor, without compiled code, boxing every value. Used if code cannot be
/// compiled; tests compare the compiled code with it. Thread-safe; lives as long as the process.
/// </summary>
internal sealed class DescribedMessage
{
    private static readonly ConcurrentDictionary<MessageDescriptor, DescribedMessage> s_all = new();

    private readonly MessageDescriptor _type;
    private readonly DescribedField[] _fields;
    private readonly Dictionary<int, DescribedField> _byNumber;

    private DescribedMessage(MessageDescriptor type)
    {
        _type = type;
        _fields = [.. type.Fields.InFieldNumberOrder().Select(DescribedField.Of)];
        _byNumber = _fields.ToDictionary(field => field.Number);
    }

    public static DescribedMessage Of(MessageDescriptor type) =>
        s_all.GetOrAdd(type, static type => new DescribedMessage(type));

    public IMessage Create() => (IMessage)Activator.CreateInstance(_type.ClrType)!;

    public long Size(IMessage message)
    {
        int count = 0;
        long size = 0;
        foreach (DescribedField field in _fields)
        {
            if (field.IsPresent(message))
            {
                count++;
                size += WireSize.Unsigned((uint)field.Number) + field.Size(message);
            }
        }

        return WireSize.MapHeader(count) + size;
    }

    public void Write(ref MessageWriter writer, IMessage message)
    {
        writer.WriteMapHeader(_fields.Count(field => field.IsPresent(message)));
        foreach (DescribedField field in _fields)
        {
            if (field.IsPresent(message))
            {
                writer.WriteKey(field.Number);
                field.Write(ref writer, message);
            }
        }
    }

    public void Merge(ref MessageReader reader, IMessage message)
    {
        for (int left = reader.ReadMapHeader(); left > 0; left--)
        {
            int number = reader.ReadField();
            if (reader.TryReadNil())
            {
                continue;
            }

            if (_byNumber.TryGetValue(number, out DescribedField? field))
            {
                field.Merge(ref reader, message);
            }
            else
            {
                reader.Skip();
            }
        }
    }

    /// <summary>Reads a nested message.</summary>
    public void MergeInner(ref MessageReader reader, IMessage message)
    {
        ReaderPlace place = reader.Enter(_type);
        Merge(ref reader, message);
        reader.Leave(place);
    }
}
