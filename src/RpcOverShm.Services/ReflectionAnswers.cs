using Google.Protobuf.Reflection;
using Grpc.Core;
using Grpc.Reflection.V1;

namespace RpcOverShm.Services;

/// <summary>
/// What one stream of reflection requests is answered, in terms of version 1: it remembers which files its client has
/// been sent. One request at a time. Never throws: what cannot be answered is an answer too.
/// </summary>
internal sealed class ReflectionAnswers(SymbolTable symbols, IReadOnlyList<string> services)
{
    private readonly HashSet<FileDescriptor> _sent = [];

    public ServerReflectionResponse Answer(ServerReflectionRequest request)
    {
        ServerReflectionResponse response = request.MessageRequestCase switch
        {
            ServerReflectionRequest.MessageRequestOneofCase.FileByFilename =>
                OfFile(symbols.FindFile(request.FileByFilename), "File not found."),
            ServerReflectionRequest.MessageRequestOneofCase.FileContainingSymbol =>
                OfFile(symbols.FindSymbol(request.FileContainingSymbol), "Symbol not found."),
            ServerReflectionRequest.MessageRequestOneofCase.FileContainingExtension =>
                OfExtension(request.FileContainingExtension),
            ServerReflectionRequest.MessageRequestOneofCase.AllExtensionNumbersOfType =>
                OfExtensionNumbers(request.AllExtensionNumbersOfType),
            ServerReflectionRequest.MessageRequestOneofCase.ListServices => OfServices(),
            _ => OfError(StatusCode.Unimplemented, "Request type not supported by C# reflection service."),
        };
        response.ValidHost = request.Host;
        response.OriginalRequest = request;
        return response;
    }

    private ServerReflectionResponse OfExtension(ExtensionRequest request) => OfFile(
        symbols.FindExtension(request.ContainingType, request.ExtensionNumber), "Extension not found.");

    private ServerReflectionResponse OfExtensionNumbers(string type) =>
        symbols.FindExtensionNumbers(type) is { } numbers
            ? new ServerReflectionResponse
            {
                AllExtensionNumbersResponse = new ExtensionNumberResponse
                {
                    BaseTypeName = type,
                    ExtensionNumber = { numbers },
                },
            }
            : OfError(StatusCode.NotFound, "Type not found.");

    private ServerReflectionResponse OfServices() => new()
    {
        ListServicesResponse = new ListServiceResponse
        {
            Service = { services.Select(name => new ServiceResponse { Name = name }) },
        },
    };

    private ServerReflectionResponse OfFile(FileDescriptor? file, string whyNot)
    {
        if (file is null)
        {
            return OfError(StatusCode.NotFound, whyNot);
        }

        // What was asked for is sent again, as often as it is asked for; what it imports is not.
        var files = new FileDescriptorResponse { FileDescriptorProto = { file.SerializedData } };
        _sent.Add(file);
        AddImports(file, files);
        return new ServerReflectionResponse { FileDescriptorResponse = files };
    }

    private void AddImports(FileDescriptor file, FileDescriptorResponse files)
    {
        foreach (FileDescriptor imported in file.Dependencies.Where(_sent.Add))
        {
            files.FileDescriptorProto.Add(imported.SerializedData);
            AddImports(imported, files);
        }
    }

    private static ServerReflectionResponse OfError(StatusCode code, string message) => new()
    {
        ErrorResponse = new ErrorResponse { ErrorCode = (int)code, ErrorMessage = message },
    };
}
