using Google.Protobuf;
using Google.Protobuf.Reflection;
using Grpc.Core;
using RpcOverShm.Services;
using RpcOverShm.Testing.Protos.Reflected;
using Current = Grpc.Reflection.V1;
using Former = Grpc.Reflection.V1Alpha;

namespace RpcOverShm.FunctionalTests.Services;

/// <summary>The reflection service without a transport: how it is made and bound, and files that clash.</summary>
internal sealed class ReflectionServiceTests
{
    [Test]
    public void Service_OfNull_Throws()
    {
        Assert.That(
            () => new ShmReflectionService((IEnumerable<ServiceDescriptor>)null!), Throws.ArgumentNullException);
        Assert.That(() => new ShmReflectionService(Reflected.Descriptor, null!), Throws.ArgumentNullException);
        Assert.That(() => new ShmReflectionService([], [null!]), Throws.ArgumentNullException);
        Assert.That(() => new ShmReflectionService().BindServices(null!), Throws.ArgumentNullException);
    }

    [Test]
    public void Service_OfNothing_ListsNothing() => Assert.That(new ShmReflectionService().ServiceNames, Is.Empty);

    [Test]
    public void BindServices_ToABinder_AddsBothVersionsUnderTheirPublicNames()
    {
        var binder = new NotingBinder();

        new ShmReflectionService().BindServices(binder);

        Assert.That(binder.Names, Is.EqualTo(new[]
        {
            "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo",
            "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo",
        }));
    }

    [Test]
    public void Versions_ComparedByTheirFields_AreTheSame()
    {
        string[] current = [.. Current.ReflectionReflection.Descriptor.MessageTypes.SelectMany(Fields)];
        string[] former = [.. Former.ReflectionReflection.Descriptor.MessageTypes.SelectMany(Fields)];

        Assert.That(former, Is.EqualTo(current).And.Length.GreaterThan(15));
    }

    [Test]
    public void Files_OfOneNameAndDifferentContents_AreEachFoundByTheirSymbols()
    {
        FileDescriptor first = FileWith("same.proto", "First");
        FileDescriptor second = FileWith("same.proto", "Second");

        var symbols = new SymbolTable([first, second]);

        Assert.That(symbols.FindFile("same.proto"), Is.SameAs(first));
        Assert.That(symbols.FindSymbol("clash.First"), Is.SameAs(first));
        Assert.That(symbols.FindSymbol("clash.Second"), Is.SameAs(second));
    }

    private static IEnumerable<string> Fields(MessageDescriptor message) => message.Fields.InDeclarationOrder()
        .Select(field => $"{message.Name}.{field.Name} = {field.FieldNumber} {field.FieldType} {field.IsRepeated}");

    private static FileDescriptor FileWith(string name, string message)
    {
        var file = new FileDescriptorProto
        {
            Name = name,
            Package = "clash",
            MessageType = { new DescriptorProto { Name = message } },
        };
        return FileDescriptor.BuildFromByteStrings([file.ToByteString()]).Single();
    }

    // What is thrown when the client has gone is the transport's; whatever else it is, is a failure of the method.
    [TestCase(typeof(InvalidOperationException), true)]
    [TestCase(typeof(IOException), true)]
    [TestCase(typeof(NotSupportedException), false)]
    public async Task Stream_WhoseClientHasGone_EndsQuietly(Type thrown, bool isQuiet)
    {
        var service = new ShmReflectionService(Reflected.Descriptor);
        var current = new Leaving<Current.ServerReflectionRequest, Current.ServerReflectionResponse>(thrown);
        var former = new Leaving<Former.ServerReflectionRequest, Former.ServerReflectionResponse>(thrown);

        Exception?[] failures =
        [
            await FailureOf(() => new ReflectionV1(service).ServerReflectionInfo(current, current, null!)),
            await FailureOf(() => new ReflectionV1Alpha(service).ServerReflectionInfo(former, former, null!)),
        ];

        Assert.That(current.Writes + former.Writes, Is.EqualTo(2), "It is left at the first write.");
        Assert.That(failures.Select(failure => failure?.GetType()), Is.All.EqualTo(isQuiet ? null : thrown));
    }

    private static async Task<Exception?> FailureOf(Func<Task> method)
    {
        try
        {
            await method();
            return null;
        }
        catch (Exception exception)
        {
            return exception;
        }
    }

    /// <summary>A client that asks on and on, and has gone when it is answered.</summary>
    private sealed class Leaving<TRequest, TResponse>(Type thrown)
        : IAsyncStreamReader<TRequest>, IServerStreamWriter<TResponse>
        where TRequest : new()
    {
        public TRequest Current { get; } = new();

        public WriteOptions? WriteOptions { get; set; }

        public int Writes { get; private set; }

        public Task<bool> MoveNext(CancellationToken cancellationToken) => Task.FromResult(true);

        public Task WriteAsync(TResponse message)
        {
            Writes++;
            return Task.FromException((Exception)Activator.CreateInstance(thrown)!);
        }
    }

    private sealed class NotingBinder : ServiceBinderBase
    {
        public List<string> Names { get; } = [];

        public override void AddMethod<TRequest, TResponse>(
            Method<TRequest, TResponse> method, DuplexStreamingServerMethod<TRequest, TResponse>? handler) =>
            Names.Add(method.FullName);
    }
}
