using System.Runtime.Serialization;

namespace MessagePack.Tests.Objects;

/// <summary>A class that says how to write it with .NET's own attributes.</summary>
[DataContract]
public class Contract
{
    [DataMember(Name = "n")]
    public int Number { get; set; }

    [DataMember]
    public string? Text { get; set; }

    public int Hidden { get; set; }
}
