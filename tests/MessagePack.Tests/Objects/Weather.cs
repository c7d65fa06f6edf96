namespace MessagePack.Tests.Objects;

/// <summary>A class one of whose members names a formatter with an argument.</summary>
[MessagePackObject]
public class Weather
{
    [Key(0)]
    public Temperature? Outside { get; set; }

    [Key(1)]
    [MessagePackFormatter(typeof(TemperatureFormatter), "inside ")]
    public Temperature? Inside { get; set; }
}
