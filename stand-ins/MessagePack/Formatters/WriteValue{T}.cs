namespace MessagePack.Formatters;

/// <summary>Writes one value.</summary>
internal delegate void WriteValue<in T>(ref MessagePackWriter writer, T value);
