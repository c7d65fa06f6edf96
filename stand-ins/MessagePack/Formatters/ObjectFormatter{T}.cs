using MessagePack.Objects;

namespace MessagePack.Formatters;

/// <summary>
/// Writes an object as its attributes say: as an array whose gaps are nil, or as a map. Reads what there is of it, in
/// any order, and skips what it does not know.
/// </summary>
internal sealed class ObjectFormatter<T> : IMessagePackFormatter<T?>
{
    private readonly ObjectPlan _plan;
    private readonly ObjectMember<T>[] _members;
    private readonly ObjectMember<T>?[] _slots;
    private readonly int _written;
    private readonly Lazy<ObjectConstructor<T>> _constructor;

    internal ObjectFormatter(ObjectPlan plan)
    {
        _plan = plan;
        _members = [.. plan.Members.Select(ObjectMember<T>.Create)];
        _slots = new ObjectMember<T>?[_members.Length == 0 ? 0 : _members.Max(member => member.Index) + 1];
        foreach (ObjectMember<T> member in _members)
        {
            _slots[member.Index] = member;
        }

        _written = plan.IsArray ? _slots.Length : _members.Count(member => member.CanGet);
        // An object that is only written needs none.
        _constructor = new(() => ObjectConstructor<T>.Find(plan, _members));
    }

    internal static ObjectFormatter<T>? CreateOrNull() =>
        ObjectPlan.CreateOrNull(typeof(T)) is { } plan ? new ObjectFormatter<T>(plan) : null;

    public void Serialize(ref MessagePackWriter writer, T? value, MessagePackSerializerOptions options)
    {
        if (value is null)
        {
            writer.WriteNil();
            return;
        }

        value = Callbacks.Before(value);
        if (_plan.IsArray)
        {
            writer.WriteArrayHeader(_written);
            foreach (ObjectMember<T>? member in _slots)
            {
                Write(ref writer, member, ref value, options);
            }

            return;
        }

        writer.WriteMapHeader(_written);
        foreach (ObjectMember<T> member in _members)
        {
            if (member.CanGet)
            {
                writer.WriteRaw(member.Key);
                member.Write(ref writer, ref value, options);
            }
        }
    }

    public T? Deserialize(ref MessagePackReader reader, MessagePackSerializerOptions options)
    {
        if (reader.TryReadNil())
        {
            return default(T) is null ? default : throw new MessagePackSerializationException(
                $"typecode is null, struct not supported. type: {typeof(T)}");
        }

        ObjectConstructor<T> constructor = _constructor.Value;
        int count = _plan.IsArray ? reader.ReadArrayHeader() : reader.ReadMapHeader();
        options.Security.DepthStep(ref reader);
        try
        {
            return Callbacks.After(
                constructor.TakesNothing
                    ? ReadInPlace(ref reader, ObjectConstructor<T>.CreateEmpty(), count, options)
                    : ReadApart(ref reader, constructor, count, options));
        }
        finally
        {
            reader.Depth--;
        }
    }

    private static void Write(
        ref MessagePackWriter writer, ObjectMember<T>? member, ref T value, MessagePackSerializerOptions options)
    {
        if (member is { CanGet: true })
        {
            member.Write(ref writer, ref value, options);
        }
        else
        {
            writer.WriteNil();
        }
    }

    private T ReadInPlace(ref MessagePackReader reader, T target, int count, MessagePackSerializerOptions options)
    {
        for (int i = 0; i < count; i++)
        {
            if (NextMember(ref reader, i) is { CanSet: true } member)
            {
                member.Read(ref reader, ref target, options);
            }
            else
            {
                reader.Skip();
            }
        }

        return target;
    }

    private T ReadApart(
        ref MessagePackReader reader, ObjectConstructor<T> constructor, int count, MessagePackSerializerOptions options)
    {
        object?[] values = new object?[_slots.Length];
        bool[] isThere = new bool[_slots.Length];
        for (int i = 0; i < count; i++)
        {
            if (NextMember(ref reader, i) is { } member && (member.CanSet || constructor.Takes(member)))
            {
                values[member.Index] = member.ReadApart(ref reader, options);
                isThere[member.Index] = true;
            }
            else
            {
                reader.Skip();
            }
        }

        T target = constructor.Create(values, isThere);
        foreach (ObjectMember<T> member in _members)
        {
            if (isThere[member.Index] && !constructor.Takes(member))
            {
                member.Set(ref target, values[member.Index]);
            }
        }

        return target;
    }

    /// <summary>Whose value comes next: by its place, or by the key that is taken off the reader.</summary>
    private ObjectMember<T>? NextMember(ref MessagePackReader reader, int i)
    {
        if (_plan.IsArray)
        {
            return i < _slots.Length ? _slots[i] : null;
        }

        ReadOnlySpan<byte> key = MapKeys.Take(ref reader);
        // They mostly come in the order in which they are written.
        for (int tried = 0; tried < _members.Length; tried++)
        {
            ObjectMember<T> member = _members[(i + tried) % _members.Length];
            if (MapKeys.AreEqual(member.Key, key))
            {
                return member;
            }
        }

        return null;
    }
}
