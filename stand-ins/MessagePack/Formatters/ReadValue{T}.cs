namespace MessagePack.Formatters;

/// <summary>Reads one value.</summary>
internal delegate T ReadValue<out T>(ref MessagePackReader reader);
