using Google.Protobuf;
using Google.Protobuf.Reflection;
using Grpc.Reflection.V1;
using FormerClient = Grpc.Reflection.V1Alpha.ServerReflection.ServerReflectionClient;
using FormerRequest = Grpc.Reflection.V1Alpha.ServerReflectionRequest;
using FormerResponse = Grpc.Reflection.V1Alpha.ServerReflectionResponse;

namespace RpcOverShm.FunctionalTests.Services;

/// <summary>
/// A stream of reflection requests of either version. Tests use the messages of version 1; those of v1alpha are
/// converted through their text, which reveals fields with another name.
/// </summary>
internal sealed class ReflectionStream : IDisposable
{
    private readonly AsyncDuplexStreamingCall<ServerReflectionRequest, ServerReflectionResponse>? _current;
    private readonly AsyncDuplexStreamingCall<FormerRequest, FormerResponse>? _former;

    public ReflectionStream(ChannelBase channel, ReflectionVersion version)
    {
        if (version == ReflectionVersion.V1)
        {
            _current = new ServerReflection.ServerReflectionClient(channel).ServerReflectionInfo();
        }
        else
        {
            _former = new FormerClient(channel).ServerReflectionInfo();
        }
    }

    public async Task<ServerReflectionResponse> AskAsync(ServerReflectionRequest request)
    {
        if (_current is not null)
        {
            await _current.RequestStream.WriteAsync(request).Bounded();
            Assert.That(await _current.ResponseStream.MoveNext(CancellationToken.None).Bounded());
            return _current.ResponseStream.Current;
        }

        await _former!.RequestStream.WriteAsync(JsonParser.Default.Parse<FormerRequest>(request.ToString())).Bounded();
        Assert.That(await _former.ResponseStream.MoveNext(CancellationToken.None).Bounded());
        return JsonParser.Default.Parse<ServerReflectionResponse>(_former.ResponseStream.Current.ToString());
    }

    /// <summary>Sends a request and returns the files of the response, which must contain some.</summary>
    public async Task<FileDescriptorProto[]> FilesOfAsync(ServerReflectionRequest request)
    {
        ServerReflectionResponse response = await AskAsync(request);
        Assert.That(response.ErrorResponse, Is.Null);
        return
        [
            .. response.FileDescriptorResponse.FileDescriptorProto.Select(file =>
                FileDescriptorProto.Parser.ParseFrom(file)),
        ];
    }

    public Task<FileDescriptorProto[]> FilesOfSymbolAsync(string symbol) =>
        FilesOfAsync(new ServerReflectionRequest { FileContainingSymbol = symbol });

    /// <summary>Completes the stream and returns its status code.</summary>
    public async Task<StatusCode> CompleteAsync()
    {
        await (_current is not null
            ? _current.RequestStream.CompleteAsync()
            : _former!.RequestStream.CompleteAsync()).Bounded();
        Assert.That(
            await (_current is not null
                ? _current.ResponseStream.MoveNext(CancellationToken.None)
                : _former!.ResponseStream.MoveNext(CancellationToken.None)).Bounded(),
            Is.False);
        return (_current?.GetStatus() ?? _former!.GetStatus()).StatusCode;
    }

    public void Dispose()
    {
        _current?.Dispose();
        _former?.Dispose();
    }
}
