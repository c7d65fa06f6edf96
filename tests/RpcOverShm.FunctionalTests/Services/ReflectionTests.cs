using Google.Protobuf;
using Google.Protobuf.Reflection;
using Grpc.Health.V1;
using Grpc.Reflection;
using Grpc.Reflection.V1;
using RpcOverShm.Testing.Protos.Reflected;
using FormerReflection = Grpc.Reflection.V1Alpha.ServerReflection;

namespace RpcOverShm.FunctionalTests.Services;

/// <summary>Both versions of the reflection service.</summary>
[EveryRig(ReflectionVersion.V1)]
[EveryRig(ReflectionVersion.V1Alpha)]
internal sealed class ReflectionTests(RigKind kind, ReflectionVersion version) : RigFixture(kind)
{
    private const string Package = "rpcovershm.testing.reflected";
    private const string Extensible = Package + ".Extensible";

    [Test]
    public async Task ListServices_ListsThemInOrder()
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
    public async Task File_ByItsName_IsFoundFirst(string name)
    {
        using ReflectionStream stream = await OpenAsync();

        FileDescriptorProto[] files = await stream.FilesOfAsync(
            new ServerReflectionRequest { FileByFilename = name });

        Assert.That(files[0].Name, Is.EqualTo(name));
    }

    [TestCase(Package + ".Reflected", "reflected_service.proto")]
    [TestCase(Package + ".Reflected.Measure", "reflected_service.proto")]
    [TestCase(Extensible + ".Inner.Colour", "reflected_base.proto")]
    [TestCase("google.protobuf.Timestamp", "google/protobuf/timestamp.proto")]
    public async Task File_ByASymbolInIt_IsFoundFirst(string symbol, string name)
    {
        using ReflectionStream stream = await OpenAsync();

        Assert.That((await stream.FilesOfSymbolAsync(symbol))[0].Name, Is.EqualTo(name));
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
    public async Task Requests_ThatCannotBeAnswered_AreAnsweredSoAndTheStreamGoesOn()
    {
        using ReflectionStream stream = await OpenAsync();
        (ServerReflectionRequest Request, StatusCode Code, string Message)[] cases =
        [
            (new() { FileByFilename = "missing.proto" }, StatusCode.NotFound, "File not found."),
            (new() { FileContainingSymbol = Package + ".measured" }, StatusCode.NotFound, "Symbol not found."),
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

    private async Task<ReflectionStream> OpenAsync()
    {
        ServiceDescriptor[] services = [Reflected.Descriptor, ConformanceContract.Descriptor, Health.Descriptor];
        CallRig rig = await StartAsync(
            null,
            ServerReflection.BindService(new ReflectionV1ServiceImpl(services)),
            FormerReflection.BindService(new ReflectionServiceImpl(services)));
        return new ReflectionStream(rig.Channel, version);
    }

    // A file must be built after its imports.
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

/// <summary>The version of the reflection service that a test calls.</summary>
public enum ReflectionVersion
{
    /// <summary><c>grpc.reflection.v1</c>.</summary>
    V1,

    /// <summary><c>grpc.reflection.v1alpha</c>.</summary>
    V1Alpha,
}
