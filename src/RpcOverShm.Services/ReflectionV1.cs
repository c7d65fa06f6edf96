using Grpc.Core;
using Grpc.Reflection.V1;

namespace RpcOverShm.Services;

/// <summary>Version 1 of the reflection service.</summary>
internal sealed class ReflectionV1(ShmReflectionService service) : ServerReflection.ServerReflectionBase
{
    public override async Task ServerReflectionInfo(
        IAsyncStreamReader<ServerReflectionRequest> requestStream,
        IServerStreamWriter<ServerReflectionResponse> responseStream,
        ServerCallContext context)
    {
        ReflectionAnswers answers = service.StartStream();
        while (await requestStream.MoveNext(CancellationToken.None).ConfigureAwait(false))
        {
            ServerReflectionResponse response = answers.Answer(requestStream.Current);
            if (!await EndedCall.TryWriteAsync(responseStream, response).ConfigureAwait(false))
            {
                return;
            }
        }
    }
}
