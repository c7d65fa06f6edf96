using System.Collections.Concurrent;
using Google.Protobuf;
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
    private readonly ConcurrentQueue<string> _asked = new();

    /// <summary>The names that were asked for.</summary>
    public IReadOnlyCollection<string> Asked => _asked;

    /// <summary>The time before each answer.</summary>
    public TimeSpan Pause { get; init; }

    /// <summary>The name of one more service; null for none.</summary>
    public string? FurtherService { get; init; }

    /// <summary>The file of that service.</summary>
    public ByteString FurtherFile { get; init; } = ByteString.Empty;

    /// <summary>Whether that file imports another one, and this one a third one, without an end.</summary>
    public bool EndlessImports { get; init; }

    public override async Task ServerReflectionInfo(
        IAsyncStreamReader<ServerReflectionRequest> requestStream,
        IServerStreamWriter<ServerReflectionResponse> responseStream,
        ServerCallContext context)
    {
        await foreach (ServerReflectionRequest request in requestStream.ReadAllAsync())
        {
            _asked.Enqueue(request.FileContainingSymbol + request.FileByFilename);
            await Task.Delay(Pause, context.CancellationToken);
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
                    files.SelectMany(file => file.Services).Select(service => service.FullName)
                        .Concat(FurtherService is null ? [] : [FurtherService])
                        .Select(name => new ServiceResponse { Name = name }),
                },
            },
        },
        _ when EndlessImports && request.FileContainingSymbol != FurtherService && request.FileByFilename.Length > 0 =>
            Give(Importing(request.FileByFilename, request.FileByFilename + "x")),
        ServerReflectionRequest.MessageRequestOneofCase.FileByFilename =>
            Give(files.FirstOrDefault(file => file.Name == request.FileByFilename)?.SerializedData),
        _ when request.FileContainingSymbol == FurtherService =>
            Give(EndlessImports ? Importing("bad.proto", "x") : FurtherFile),
        _ => Give(files.FirstOrDefault(file => Declares(file, request.FileContainingSymbol))?.SerializedData),
    };

    private static ByteString Importing(string name, string other) =>
        new FileDescriptorProto { Name = name, Dependency = { other } }.ToByteString();

    private static bool Declares(FileDescriptor file, string name) =>
        file.Services.Any(service => service.FullName == name)
        || file.MessageTypes.Any(type => type.FullName == name);

    private static ServerReflectionResponse Give(ByteString? file) => file is null
        ? new ServerReflectionResponse { ErrorResponse = new ErrorResponse { ErrorCode = 5, ErrorMessage = "unknown" } }
        : new ServerReflectionResponse
        {
            FileDescriptorResponse = new FileDescriptorResponse { FileDescriptorProto = { file } },
        };
}
