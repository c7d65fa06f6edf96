using ProtoBuf;
using ProtoBuf.Grpc.Configuration;

namespace RpcOverShm.FunctionalTests.CodeFirst;

/// <summary>A contract whose messages have derived types.</summary>
[Service("test.Zoo")]
public interface IZoo
{
    [Operation]
    Task<Animal> VisitAsync(Animal animal);

    [Operation]
    IAsyncEnumerable<Animal> ParadeAsync(IAsyncEnumerable<Animal> animals);
}

[ProtoContract]
[ProtoInclude(10, typeof(Dog))]
public class Animal
{
    [ProtoMember(1)]
    public string Name { get; set; } = "";
}

[ProtoContract]
public sealed class Dog : Animal
{
    [ProtoMember(1)]
    public int Tricks { get; set; }
}

/// <summary>A derived type that its base does not name.</summary>
[ProtoContract]
public sealed class Stray : Animal;
