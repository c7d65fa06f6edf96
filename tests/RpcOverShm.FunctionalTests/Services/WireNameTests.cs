using Google.Protobuf;
using Google.Protobuf.Reflection;
using Google.Rpc;
using Grpc.Health.V1;
using Grpc.Reflection.V1;

namespace RpcOverShm.FunctionalTests.Services;

/// <summary>
/// Names and bytes by which other implementations know these services. They are not ours to change.
/// </summary>
internal sealed class WireNameTests
{
    [Test]
    public void Methods_HaveTheirPublicNames() => Assert.That(
        Health.Descriptor.Methods.Concat(ServerReflection.Descriptor.Methods).Select(method => method.FullName),
        Is.EqualTo(new[]
        {
            "grpc.health.v1.Health.Check",
            "grpc.health.v1.Health.List",
            "grpc.health.v1.Health.Watch",
            "grpc.reflection.v1.ServerReflection.ServerReflectionInfo",
        }));

    [Test]
    public void Files_HaveTheirPublicNames() => Assert.That(
        new[] { HealthReflection.Descriptor, StatusReflection.Descriptor, ErrorDetailsReflection.Descriptor }
            .Select(file => file.Name),
        Is.EqualTo(new[]
        {
            "grpc/health/v1/health.proto", "google/rpc/status.proto", "google/rpc/error_details.proto",
        }));

    public static IEnumerable<TestCaseData> Messages =>
    [
        new(new HealthCheckRequest { Service = "a" }, "0a0161"),
        new(new HealthCheckResponse { Status = HealthCheckResponse.Types.ServingStatus.ServiceUnknown }, "0803"),
        new(new ServerReflectionRequest { Host = "h", ListServices = "*" }, "0a01683a012a"),
        new(new ServerReflectionRequest { FileByFilename = "f" }, "1a0166"),
        new(new ServerReflectionRequest { FileContainingSymbol = "s" }, "220173"),
        new(
            new ServerReflectionRequest
            {
                FileContainingExtension = new ExtensionRequest { ContainingType = "t", ExtensionNumber = 1 },
            },
            "2a050a01741001"),
        new(new ServerReflectionRequest { AllExtensionNumbersOfType = "t" }, "320174"),
        new(
            new ServerReflectionResponse { ErrorResponse = new ErrorResponse { ErrorCode = 5, ErrorMessage = "e" } },
            "3a050805120165"),
        new(
            new Google.Rpc.Status { Code = 5, Message = "m", Details = { new Google.Protobuf.WellKnownTypes.Any() } },
            "080512016d1a00"),
        new(new ErrorInfo { Reason = "r", Domain = "d" }, "0a0172120164"),
    ];

    [TestCaseSource(nameof(Messages))]
    public void Message_Serialised_IsTheseBytes(IMessage message, string bytes) => Assert.That(
        Convert.ToHexStringLower(message.ToByteArray()), Is.EqualTo(bytes), message.Descriptor.FullName);

    [Test]
    public void ErrorDetails_HaveTheirPublicFields() => Assert.That(
        ErrorDetailsReflection.Descriptor.MessageTypes.Select(
            type => $"{type.Name}: {string.Join(' ', type.Fields.InFieldNumberOrder().Select(Field))}"),
        Is.EqualTo(new[]
        {
            "RetryInfo: retry_delay=1",
            "DebugInfo: stack_entries=1 detail=2",
            "QuotaFailure: violations=1",
            "ErrorInfo: reason=1 domain=2 metadata=3",
            "PreconditionFailure: violations=1",
            "BadRequest: field_violations=1",
            "RequestInfo: request_id=1 serving_data=2",
            "ResourceInfo: resource_type=1 resource_name=2 owner=3 description=4",
            "Help: links=1",
            "LocalizedMessage: locale=1 message=2",
        }));

    private static string Field(FieldDescriptor field) => $"{field.Name}={field.FieldNumber}";
}
