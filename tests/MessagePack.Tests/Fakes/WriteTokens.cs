namespace MessagePack.Tests.Fakes;

/// <summary>Writes something into a message.</summary>
internal delegate void WriteTokens(ref MessagePackWriter writer);
