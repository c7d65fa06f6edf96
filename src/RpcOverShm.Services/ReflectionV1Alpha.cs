using Google.Protobuf;
using Grpc.Core;
using Grpc.Reflection.V1Alpha;
using CurrentRequest = Grpc.Reflection.V1.ServerReflectionRequest;

namespace RpcOverShm.Services;

/// <summary>
/// The version of the reflection service before version 1, which most tools still ask for first. Its messages are those
/// of version 1 byte for byte, so they are turned into each other as bytes.
/// </summary>
internal sealed class ReflectionV1Alpha(ShmReflectionService service) : ServerReflection.ServerReflectionBase
{
    public override async Task ServerReflectionInfo(
        IAsyncStreamReader<ServerReflectionRequest> requestStream,
        IServerStreamWriter<ServerReflectionResponse> responseStream,
        ServerCallContext context)
    {
        ReflectionAnswers answers = service.StartStream();
        while (await requestStream.MoveNext(CancellationToken.None).ConfigureAwait(false))
        {
            var request = CurrentRequest.Parser.ParseFrom(requestStream.Current.ToByteString());
            var response = ServerReflectionResponse.Parser.ParseFrom(answers.Answer(request).ToByteString());
            if (!await EndedCall.TryWriteAsync(responseStream, response).ConfigureAwait(false))
            {
                return;
            }
        }
    }
}
