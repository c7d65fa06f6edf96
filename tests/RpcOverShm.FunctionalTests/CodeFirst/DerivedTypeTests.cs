using ProtoBuf.Grpc;
using ProtoBuf.Grpc.Client;
using RpcOverShm.Connections;

namespace RpcOverShm.FunctionalTests.CodeFirst;

/// <summary>Derived types in code-first messages: those that the base class names, and others.</summary>
internal sealed class DerivedTypeTests() : RigFixture(RigKind.Shm)
{
    private const int MethodThrew = 301;

    [Test]
    public async Task DerivedType_ThatTheBaseNames_ArrivesAsItself()
    {
        IZoo zoo = ClientOf(await StartAsync(animal => animal));

        Animal dog = await zoo.VisitAsync(new Dog { Name = "Rex", Tricks = 3 }).Bounded();
        Animal animal = await zoo.VisitAsync(new Animal { Name = "Ann" }).Bounded();

        Assert.That(dog, Is.TypeOf<Dog>());
        Assert.That((dog.Name, ((Dog)dog).Tricks), Is.EqualTo(("Rex", 3)));
        Assert.That(animal, Is.TypeOf<Animal>().With.Property("Name").EqualTo("Ann"));
    }

    [Test]
    public async Task DerivedTypes_InAStream_ArriveAsThemselves()
    {
        IZoo zoo = ClientOf(await StartAsync(animal => animal));

        string[] types = await NamesAsync(zoo.ParadeAsync(AnimalsAsync(new Dog(), new Animal(), new Dog()))).Bounded();

        Assert.That(types, Is.EqualTo(["Dog", "Animal", "Dog"]));
    }

    [Test]
    public async Task Request_OfATypeThatTheBaseDoesNotName_FailsThatCall()
    {
        ShmRig rig = await StartAsync(animal => animal);
        IZoo zoo = ClientOf(rig);
        Connection before = await ConnectAsync(rig);

        RpcException failure = await FailureOf(zoo.VisitAsync(new Stray()));

        Assert.That(failure.StatusCode, Is.EqualTo(StatusCode.Internal));
        Assert.That(failure.Status.Detail, Does.Contain(nameof(Stray)));
        await AssertSameConnectionAsync(rig, before);
    }

    [Test]
    public async Task Request_InAStream_OfATypeThatTheBaseDoesNotName_FailsThatCall()
    {
        ShmRig rig = await StartAsync(animal => animal);
        IZoo zoo = ClientOf(rig);
        Connection before = await ConnectAsync(rig);

        Exception? thrown = await Thrown.InAllAsync(
            () => NamesAsync(zoo.ParadeAsync(AnimalsAsync(new Dog(), new Stray()))));

        Assert.That(thrown, Is.TypeOf<RpcException>());
        Assert.That(thrown!.Message, Does.Contain(nameof(Stray)));
        await AssertSameConnectionAsync(rig, before);
    }

    [Test]
    public async Task Response_OfATypeThatTheBaseDoesNotName_FailsThatCallAndIsLogged()
    {
        ShmRig rig = await StartAsync(animal => animal.Name == "lost" ? new Stray() : animal);
        rig.Log.Expect(MethodThrew);
        IZoo zoo = ClientOf(rig);
        Connection before = await ConnectAsync(rig);

        RpcException failure = await FailureOf(zoo.VisitAsync(new Animal { Name = "lost" }));

        Assert.That(
            failure.Status.Plain(), Is.EqualTo(new Status(StatusCode.Unknown, "Exception was thrown by handler.")));
        Assert.That(
            (await rig.Log.WaitForAsync(MethodThrew)).Exception,
            Is.InstanceOf<InvalidOperationException>().With.Message.Contains(nameof(Stray)));
        await AssertSameConnectionAsync(rig, before);
    }

    private static async Task<Connection> ConnectAsync(ShmRig rig)
    {
        Animal dog = await ClientOf(rig).VisitAsync(new Dog { Name = "first" }).Bounded();
        Assert.That(dog, Is.TypeOf<Dog>().With.Property("Name").EqualTo("first"));
        return rig.OnlyConnection;
    }

    private static async Task AssertSameConnectionAsync(ShmRig rig, Connection before) =>
        Assert.That(await ConnectAsync(rig), Is.SameAs(before), "the connection stays");

    private Task<ShmRig> StartAsync(Func<Animal, Animal> answer) => StartShmAsync(
        new Script(),
        new RigOptions { Services = services => services.AddCodeFirst<IZoo>(new Zoo(answer)) });

    private static IZoo ClientOf(ShmRig rig) => rig.Channel.CreateGrpcService<IZoo>();

    private static async IAsyncEnumerable<Animal> AnimalsAsync(params Animal[] animals)
    {
        foreach (Animal animal in animals)
        {
            yield return animal;
            await Task.Yield();
        }
    }

    private static async Task<string[]> NamesAsync(IAsyncEnumerable<Animal> animals)
    {
        var names = new List<string>();
        await foreach (Animal animal in animals)
        {
            names.Add(animal.GetType().Name);
        }

        return [.. names];
    }

    private sealed class Zoo(Func<Animal, Animal> answer) : IZoo
    {
        public Task<Animal> VisitAsync(Animal animal) => Task.FromResult(answer(animal));

        public async IAsyncEnumerable<Animal> ParadeAsync(IAsyncEnumerable<Animal> animals)
        {
            await foreach (Animal animal in animals)
            {
                yield return answer(animal);
            }
        }
    }
}
