using Google.Protobuf;
using Google.Protobuf.Reflection;
using Grpc.Core;
using Grpc.Reflection;
using Grpc.Reflection.V1Alpha;

namespace RpcOverShm.Hosting.Servers;

/// <summary>
/// Version 1 of the reflection service. Grpc.Reflection has it since 2.80 only, but the package works with older
/// versions too. So it is made from v1alpha, whose messages are the same.
/// </summary>
internal static class ReflectionV1
{
    private const string FormerPackage = "grpc.reflection.v1alpha";
    private const string CurrentPackage = "grpc.reflection.v1";

    /// <summary>The descriptor, for reflection itself.</summary>
    public static ServiceDescriptor Descriptor { get; } = CreateDescriptor();

    /// <summary>Returns the service, with the method of the version before.</summary>
    public static ServerServiceDefinition Of(ReflectionServiceImpl former)
    {
        var method = new Method<ServerReflectionRequest, ServerReflectionResponse>(
            MethodType.DuplexStreaming,
            Descriptor.FullName,
            nameof(former.ServerReflectionInfo),
            MarshallerOf(ServerReflectionRequest.Parser),
            MarshallerOf(ServerReflectionResponse.Parser));
        return ServerServiceDefinition.CreateBuilder().AddMethod(method, former.ServerReflectionInfo).Build();
    }

    private static Marshaller<T> MarshallerOf<T>(MessageParser<T> parser)
        where T : IMessage<T> => Marshallers.Create(static message => message.ToByteArray(), parser.ParseFrom);

    private static ServiceDescriptor CreateDescriptor()
    {
        var file = FileDescriptorProto.Parser.ParseFrom(ServerReflection.Descriptor.File.SerializedData);
        file.Name = "grpc/reflection/v1/reflection.proto";
        file.Package = CurrentPackage;
        file.Options = null;
        foreach (FieldDescriptorProto field in
            file.MessageType.SelectMany(message => message.Field).Where(field => field.HasTypeName))
        {
            field.TypeName = Renamed(field.TypeName);
        }

        foreach (MethodDescriptorProto method in file.Service.SelectMany(service => service.Method))
        {
            method.InputType = Renamed(method.InputType);
            method.OutputType = Renamed(method.OutputType);
        }

        return FileDescriptor.BuildFromByteStrings([file.ToByteString()]).Single().Services.Single();
    }

    private static string Renamed(string type) => type.Replace(FormerPackage, CurrentPackage, StringComparison.Ordinal);
}
