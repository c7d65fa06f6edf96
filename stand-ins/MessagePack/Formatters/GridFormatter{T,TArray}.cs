namespace MessagePack.Formatters;

/// <summary>Writes an array of several dimensions: the lengths of these, then all elements row by row.</summary>
internal sealed class GridFormatter<T, TArray> : IMessagePackFormatter<TArray?>
    where TArray : class
{
    private static readonly int s_rank = typeof(TArray).GetArrayRank();

    public void Serialize(ref MessagePackWriter writer, TArray? value, MessagePackSerializerOptions options)
    {
        if (value is not Array grid)
        {
            writer.WriteNil();
            return;
        }

        writer.WriteArrayHeader(s_rank + 1);
        for (int i = 0; i < s_rank; i++)
        {
            writer.Write(grid.GetLength(i));
        }

        Elements.Write<T>(ref writer, grid.Cast<T>().ToArray(), options);
    }

    public TArray? Deserialize(ref MessagePackReader reader, MessagePackSerializerOptions options)
    {
        if (reader.TryReadNil())
        {
            return null;
        }

        if (reader.ReadArrayHeader() != s_rank + 1)
        {
            throw Invalid();
        }

        int[] lengths = new int[s_rank];
        long total = 1;
        for (int i = 0; i < s_rank; i++)
        {
            lengths[i] = reader.ReadInt32();
            total = lengths[i] < 0 ? throw Invalid() : checked(total * lengths[i]);
        }

        // The lengths are believed only after as many elements have been read.
        T[] elements = Elements.Read<T>(ref reader, options);
        if (elements.Length != total)
        {
            throw Invalid();
        }

        var grid = Array.CreateInstance(typeof(T), lengths);
        int[] at = new int[s_rank];
        foreach (T element in elements)
        {
            grid.SetValue(element, at);
            Step(at, lengths);
        }

        return (TArray)(object)grid;
    }

    private static void Step(int[] at, int[] lengths)
    {
        for (int i = s_rank - 1; i >= 0 && ++at[i] == lengths[i]; i--)
        {
            at[i] = 0;
        }
    }

    private static MessagePackSerializationException Invalid() => new($"Invalid {typeof(TArray).Name} format.");
}
