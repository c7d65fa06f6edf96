namespace MessagePack.Tests.Fakes;

/// <summary>Reads something off a message.</summary>
internal delegate T ReadTokens<out T>(ref MessagePackReader reader);
