using Google.Protobuf.Reflection;
using Grpc.Core;
using Grpc.Reflection.V1;

namespace RpcOverShm.Tool.Tests.Support;

/// <summary>
/// The reflection of version 1, in the way of some other languages: each answer has one file, and its imports are to
/// be asked for. Google's own files are not given at all.
/// </summary>
internal sealed class SparseReflection(params FileDescriptor[] files) : ServerReflection.ServerReflectionBase
{
    public override async Task ServerReflectionInfo(
        IAsyncStreamReader<ServerReflectionRequest> requestStream,
        IServerStreamWriter<ServerReflectionResponse> responseStream,
        ServerCallContext context)
    {
        await foreach (ServerReflectionRequest request in requestStream.ReadAllAsync())
        {
            await responseStream.WriteAsync(Answer(request));
        }
    }

    private ServerReflectionResponse Answer(ServerReflectionRequest request) => request.MessageRequestCase switch
    {
        ServerReflectionRequest.MessageRequestOneofCase.ListServices => new ServerReflectionResponse
        {
            ListServicesResponse = new ListServiceResponse
            {
                Service =
                {
                    files.SelectMany(file => file.Services)
                        .Select(service => new ServiceResponse { Name = service.FullName }),
                },
            },
        },
        ServerReflectionRequest.MessageRequestOneofCase.FileByFilename =>
            Give(files.FirstOrDefault(file => file.Name == request.FileByFilename)),
        _ => Give(files.FirstOrDefault(file => Declares(file, request.FileContainingSymbol))),
    };

    private static bool Declares(FileDescriptor file, string name) =>
        file.Services.Any(service => service.FullName == name)
        || file.MessageTypes.Any(type => type.FullName == name);

    private static ServerReflectionResponse Give(FileDescriptor? file) => file is null
        ? new ServerReflectionResponse { ErrorResponse = new ErrorResponse { ErrorCode = 5, ErrorMessage = "unknown" } }
        : new ServerReflectionResponse
        {
            FileDescriptorResponse = new FileDescriptorResponse { FileDescriptorProto = { file.SerializedData } },
        };
}
