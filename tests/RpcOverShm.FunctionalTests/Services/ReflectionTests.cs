using Google.Protobuf;
using Google.Protobuf.Reflection;
using Grpc.Core;
using Grpc.Health.V1;
using Grpc.Reflection.V1;
using RpcOverShm.FunctionalTests.Rigs;
using RpcOverShm.Services;
using RpcOverShm.Testing.Protos.Reflected;

namespace RpcOverShm.FunctionalTests.Services;

/// <summary>What a server says of its services, in both versions of the reflection service.</summary>
[EveryRig(ReflectionVersion.V1)]
[EveryRig(ReflectionVersion.V1Alpha)]
internal sealed class ReflectionTests(RigKind kind, ReflectionVersion version) : RigFixture(kind)
{
    private const string Package = "rpcovershm.testing.reflected";
    private const string Extensible = Package + ".Extensible";

    [Test]
    public async Task ListServices_ListsThemInOrderAndOnce()
    {
        using ReflectionStream stream = await OpenAsync();

        ServerReflectionResponse response = await stream.AskAsync(new ServerReflectionRequest { ListServices = "*" });

        Assert.That(
            response.ListServicesResponse.Service.Select(service => service.Name),
            Is.EqualTo(new[]
            {
                "rpcovershm.testing.reflected.Reflected", "rpcovershm.testing.Conformance", "grpc.health.v1.Health",
            }));
    }

    [TestCase("reflected_base.proto")]
    [TestCase("google/protobuf/timestamp.proto")]
    [TestCase("grpc/health/v1/health.proto")]
    public async Task File_ByItsName_IsFound(string name)
    {
        using ReflectionStream stream = await OpenAsync();

        FileDescriptorProto[] files = await stream.FilesOfAsync(
            new ServerReflectionRequest { FileByFilename = name });

        Assert.That(files.Select(file => file.Name), Is.EqualTo(new[] { name }));
    }

    [TestCase(Package + ".Reflected", "reflected_service.proto")]
    [TestCase(Package + ".Reflected.Measure", "reflected_service.proto")]
    [TestCase(Package + ".Measured", "reflected_service.proto")]
    [TestCase(Package + ".Measured.at", "reflected_service.proto")]
    [TestCase(Extensible, "reflected_base.proto")]
    [TestCase(Extensible + ".choice", "reflected_base.proto")]
    [TestCase(Extensible + ".Inner", "reflected_base.proto")]
    [TestCase(Extensible + ".Inner.Colour", "reflected_base.proto")]
    [TestCase(Extensible + ".Inner.GREEN", "reflected_base.proto")]
    [TestCase(Package + ".Size", "reflected_base.proto")]
    [TestCase(Package + ".LARGE", "reflected_base.proto")]
    [TestCase(Package + ".weight", "reflected_extensions.proto")]
    [TestCase(Package + ".Holder.held", "reflected_extensions.proto")]
    [TestCase("google.protobuf.Timestamp", "google/protobuf/timestamp.proto")]
    public async Task File_ByASymbolInIt_IsFoundFirst(string symbol, string name)
    {
        using ReflectionStream stream = await OpenAsync();

        Assert.That((await stream.FilesOfSymbolAsync(symbol))[0].Name, Is.EqualTo(name));
    }

    [TestCase(Extensible, 101, "reflected_extensions.proto")]
    [TestCase(Extensible, 102, "reflected_extensions.proto")]
    [TestCase(Extensible, 150, "reflected_extensions.proto")]
    [TestCase("google.protobuf.MessageOptions", 50123, "reflected_extensions.proto")]
    public async Task File_ByAnExtensionInIt_IsFoundFirst(string type, int number, string name)
    {
        using ReflectionStream stream = await OpenAsync();
        var request = new ServerReflectionRequest
        {
            FileContainingExtension = new ExtensionRequest { ContainingType = type, ExtensionNumber = number },
        };

        Assert.That((await stream.FilesOfAsync(request))[0].Name, Is.EqualTo(name));
    }

    [TestCase(Extensible, new[] { 101, 102, 150 })]
    [TestCase("google.protobuf.MessageOptions", new[] { 50123 })]
    [TestCase(Package + ".Measured", new int[0])]
    public async Task ExtensionNumbers_OfAType_AreAllThatAreKnown(string type, int[] numbers)
    {
        using ReflectionStream stream = await OpenAsync();

        ServerReflectionResponse response = await stream.AskAsync(
            new ServerReflectionRequest { AllExtensionNumbersOfType = type });

        Assert.That(response.AllExtensionNumbersResponse.ExtensionNumber, Is.EquivalentTo(numbers));
        Assert.That(response.AllExtensionNumbersResponse.BaseTypeName, Is.EqualTo(type));
    }

    [Test]
    public async Task Files_OfAService_AreEnoughToBuildItsDescriptorFrom()
    {
        using ReflectionStream stream = await OpenAsync();

        FileDescriptorProto[] files = await stream.FilesOfSymbolAsync(Package + ".Reflected");
        ServiceDescriptor built = Build(files).SelectMany(file => file.Services).Single();

        Assert.That(files[0].ToByteString(), Is.EqualTo(Reflected.Descriptor.File.SerializedData));
        Assert.That(built.FullName, Is.EqualTo(Reflected.Descriptor.FullName));
        Assert.That(built.Methods.Single().InputType.FullName, Is.EqualTo(Extensible));
        Assert.That(
            built.Methods.Single().OutputType.Fields["at"].MessageType.FullName,
            Is.EqualTo("google.protobuf.Timestamp"));
    }

    [Test]
    public async Task Imports_SentOnTheStreamBefore_AreNotSentAgain()
    {
        CallRig rig = await StartAsync();
        using var stream = new ReflectionStream(rig.Channel, version);
        using var another = new ReflectionStream(rig.Channel, version);

        FileDescriptorProto[] service = await stream.FilesOfSymbolAsync(Package + ".Reflected");
        FileDescriptorProto[] again = await stream.FilesOfSymbolAsync(Package + ".Reflected");
        FileDescriptorProto[] imported = await stream.FilesOfSymbolAsync(Extensible);
        FileDescriptorProto[] extensions = await stream.FilesOfSymbolAsync(Package + ".weight");
        FileDescriptorProto[] elsewhere = await another.FilesOfSymbolAsync(Package + ".weight");

        Assert.That(
            Names(service),
            Is.EquivalentTo(new[]
            {
                "reflected_service.proto", "reflected_base.proto", "google/protobuf/timestamp.proto",
            }));
        Assert.That(Names(again), Is.EqualTo(new[] { "reflected_service.proto" }));
        Assert.That(Names(imported), Is.EqualTo(new[] { "reflected_base.proto" }), "It is what was asked for.");
        Assert.That(
            Names(extensions),
            Is.EqualTo(new[] { "reflected_extensions.proto", "google/protobuf/descriptor.proto" }));
        Assert.That(Names(elsewhere), Has.Length.EqualTo(3).And.Contains("reflected_base.proto"));
    }

    [Test]
    public async Task Requests_ThatCannotBeAnswered_AreAnsweredSoAndTheStreamGoesOn()
    {
        using ReflectionStream stream = await OpenAsync();
        (ServerReflectionRequest Request, StatusCode Code, string Message)[] cases =
        [
            (new() { FileByFilename = "missing.proto" }, StatusCode.NotFound, "File not found."),
            (new() { FileByFilename = "" }, StatusCode.NotFound, "File not found."),
            (new() { FileContainingSymbol = Package }, StatusCode.NotFound, "Symbol not found."),
            (new() { FileContainingSymbol = Package + ".measured" }, StatusCode.NotFound, "Symbol not found."),
            (Extension(Extensible, 103), StatusCode.NotFound, "Extension not found."),
            (Extension("missing.Type", 101), StatusCode.NotFound, "Extension not found."),
            (new() { AllExtensionNumbersOfType = "missing.Type" }, StatusCode.NotFound, "Type not found."),
            (new() { AllExtensionNumbersOfType = Package + ".Size" }, StatusCode.NotFound, "Type not found."),
            (new(), StatusCode.Unimplemented, "Request type not supported by C# reflection service."),
        ];

        foreach ((ServerReflectionRequest request, StatusCode code, string message) in cases)
        {
            ServerReflectionResponse response = await stream.AskAsync(request);
            Assert.That(
                response.ErrorResponse,
                Is.EqualTo(new ErrorResponse { ErrorCode = (int)code, ErrorMessage = message }),
                request.ToString());
        }

        Assert.That(await stream.FilesOfSymbolAsync(Extensible), Has.Length.EqualTo(1));
        Assert.That(await stream.CompleteAsync(), Is.EqualTo(StatusCode.OK));
    }

    [Test]
    public async Task Answers_RepeatTheRequestAndItsHost()
    {
        using ReflectionStream stream = await OpenAsync();
        var known = new ServerReflectionRequest { Host = "here", ListServices = "all" };
        var unknown = new ServerReflectionRequest { Host = "there", FileByFilename = "missing.proto" };

        ServerReflectionResponse good = await stream.AskAsync(known);
        ServerReflectionResponse bad = await stream.AskAsync(unknown);

        Assert.That((good.OriginalRequest, good.ValidHost), Is.EqualTo((known, "here")));
        Assert.That((bad.OriginalRequest, bad.ValidHost), Is.EqualTo((unknown, "there")));
    }

    [Test]
    public async Task Files_WithOptionsOfTheirOwn_KeepThem()
    {
        using ReflectionStream stream = await OpenAsync();

        FileDescriptorProto[] files = await stream.FilesOfSymbolAsync(Package + ".Holder");
        var registry = new ExtensionRegistry { ReflectedExtensionsExtensions.Remark };
        var file = FileDescriptorProto.Parser.WithExtensionRegistry(registry).ParseFrom(files[0].ToByteString());

        Assert.That(
            file.MessageType.Single(type => type.Name == "Holder").Options
                .GetExtension(ReflectedExtensionsExtensions.Remark),
            Is.EqualTo("holds"));
    }

    private async Task<ReflectionStream> OpenAsync() => new((await StartAsync()).Channel, version);

    private Task<CallRig> StartAsync()
    {
        var reflection = new ShmReflectionService(
            [Reflected.Descriptor, ConformanceContract.Descriptor, Health.Descriptor, Reflected.Descriptor],
            [ReflectedExtensionsReflection.Descriptor]);
        return StartAsync(null, [.. reflection.BindServices()]);
    }

    private static ServerReflectionRequest Extension(string type, int number) => new()
    {
        FileContainingExtension = new ExtensionRequest { ContainingType = type, ExtensionNumber = number },
    };

    private static string[] Names(FileDescriptorProto[] files) => [.. files.Select(file => file.Name)];

    // Files are built after those that they import.
    private static IReadOnlyList<FileDescriptor> Build(FileDescriptorProto[] files)
    {
        var ordered = new List<FileDescriptorProto>();
        void Add(FileDescriptorProto file)
        {
            foreach (string name in file.Dependency)
            {
                Add(files.Single(imported => imported.Name == name));
            }

            if (!ordered.Contains(file))
            {
                ordered.Add(file);
            }
        }

        Array.ForEach(files, Add);
        return FileDescriptor.BuildFromByteStrings(ordered.Select(file => file.ToByteString()));
    }
}
