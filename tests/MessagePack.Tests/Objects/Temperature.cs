namespace MessagePack.Tests.Objects;

/// <summary>A type that names its formatter.</summary>
[MessagePackFormatter(typeof(TemperatureFormatter))]
public record Temperature(int Degrees);
