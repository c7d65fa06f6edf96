namespace MessagePack.Formatters;

/// <summary>What all collections have in common: elements one after the other behind their count.</summary>
internal static class Elements
{
    internal static void Write<T>(
        ref MessagePackWriter writer, scoped ReadOnlySpan<T> elements, MessagePackSerializerOptions options)
    {
        IMessagePackFormatter<T> formatter = options.Resolver.GetFormatterWithVerify<T>();
        writer.WriteArrayHeader(elements.Length);
        foreach (T element in elements)
        {
            writer.CancellationToken.ThrowIfCancellationRequested();
            formatter.Serialize(ref writer, element, options);
        }
    }

    internal static T[] Read<T>(ref MessagePackReader reader, MessagePackSerializerOptions options) =>
        Read(ref reader, options.Resolver.GetFormatterWithVerify<T>(), options);

    internal static T[] Read<T>(
        ref MessagePackReader reader, IMessagePackFormatter<T> formatter, MessagePackSerializerOptions options)
    {
        int count = reader.ReadArrayHeader();
        if (count == 0)
        {
            return [];
        }

        var elements = new T[count];
        options.Security.DepthStep(ref reader);
        try
        {
            for (int i = 0; i < elements.Length; i++)
            {
                reader.CancellationToken.ThrowIfCancellationRequested();
                elements[i] = formatter.Deserialize(ref reader, options);
            }
        }
        finally
        {
            reader.Depth--;
        }

        return elements;
    }
}
