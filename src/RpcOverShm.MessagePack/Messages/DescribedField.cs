using System.Collections;
using Google.Protobuf;
using Google.Protobuf.Reflection;
using RpcOverShm.MessagePack.Wire;

namespace RpcOverShm.MessagePack.Messages;

/// <summary>Reads and writes one field of a message by its descriptor. Thread-safe.</summary>
internal abstract class DescribedField(FieldDescriptor descriptor)
{
    public int Number => Field.FieldNumber;

    protected FieldDescriptor Field { get; } = descriptor;

    public static DescribedField Of(FieldDescriptor field) => field switch
    {
        { IsMap: true } => new Map(field),
        { IsRepeated: true } => new Repeated(field),
        _ => new Singular(field),
    };

    public abstract bool IsPresent(IMessage message);

    public abstract long Size(IMessage message);

    public abstract void Write(ref MessageWriter writer, IMessage message);

    /// <summary>Reads a value that is not nil into the message.</summary>
    public abstract void Merge(ref MessageReader reader, IMessage message);

    private sealed class Singular(FieldDescriptor field) : DescribedField(field)
    {
        private readonly DescribedValue _value = new(field);

        public override bool IsPresent(IMessage message) => Field.HasPresence
            ? Field.Accessor.HasValue(message)
            : !_value.IsDefault(Field.Accessor.GetValue(message));

        public override long Size(IMessage message) => _value.Size(Field.Accessor.GetValue(message));

        public override void Write(ref MessageWriter writer, IMessage message) =>
            _value.Write(ref writer, Field.Accessor.GetValue(message));

        public override void Merge(ref MessageReader reader, IMessage message)
        {
            object? before = Field.HasPresence && !Field.Accessor.HasValue(message)
                ? null
                : Field.Accessor.GetValue(message);
            Field.Accessor.SetValue(message, _value.Merge(ref reader, before));
        }
    }

    private sealed class Repeated(FieldDescriptor field) : DescribedField(field)
    {
        private readonly DescribedValue _element = new(field);

        public override bool IsPresent(IMessage message) => Values(message).Count > 0;

        public override long Size(IMessage message) =>
            WireSize.ArrayHeader(Values(message).Count) + Values(message).Cast<object>().Sum(_element.Size);

        public override void Write(ref MessageWriter writer, IMessage message)
        {
            IList values = Values(message);
            writer.WriteArrayHeader(values.Count);
            foreach (object value in values)
            {
                _element.Write(ref writer, value);
            }
        }

        public override void Merge(ref MessageReader reader, IMessage message)
        {
            IList values = Values(message);
            int owed = reader.Owed;
            for (int behind = reader.ReadArrayHeader() - 1; behind >= 0; behind--)
            {
                reader.Owed = owed + behind;
                values.Add(_element.Read(ref reader));
            }

            reader.Owed = owed;
        }

        private IList Values(IMessage message) => (IList)Field.Accessor.GetValue(message);
    }

    private sealed class Map(FieldDescriptor field) : DescribedField(field)
    {
        private readonly DescribedValue _key = new(field.MessageType.FindFieldByNumber(1));
        private readonly DescribedValue _value = new(field.MessageType.FindFieldByNumber(2));

        public override bool IsPresent(IMessage message) => Entries(message).Count > 0;

        public override long Size(IMessage message)
        {
            long size = WireSize.MapHeader(Entries(message).Count);
            foreach (DictionaryEntry entry in Entries(message))
            {
                size += _key.Size(entry.Key) + _value.Size(entry.Value!);
            }

            return size;
        }

        public override void Write(ref MessageWriter writer, IMessage message)
        {
            IDictionary entries = Entries(message);
            writer.WriteMapHeader(entries.Count);
            foreach (DictionaryEntry entry in entries)
            {
                _key.Write(ref writer, entry.Key);
                _value.Write(ref writer, entry.Value!);
            }
        }

        public override void Merge(ref MessageReader reader, IMessage message)
        {
            IDictionary entries = Entries(message);
            int count = reader.ReadMapHeader();
            int owed = reader.Owed;
            reader.EnterEntries();
            for (int behind = (2 * count) - 1; behind > 0; behind -= 2)
            {
                reader.Owed = owed + behind;
                object key = _key.Read(ref reader);
                reader.Owed = owed + behind - 1;
                entries[key] = _value.Read(ref reader);
            }

            reader.LeaveEntries();
            reader.Owed = owed;
        }

        private IDictionary Entries(IMessage message) => (IDictionary)Field.Accessor.GetValue(message);
    }
}
