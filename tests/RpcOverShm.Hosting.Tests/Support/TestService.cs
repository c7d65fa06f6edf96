using Google.Protobuf;
using Grpc.Core;
using RpcOverShm.Testing.Protos;

namespace RpcOverShm.Hosting.Tests.Support;

/// <summary>A service whose one method a test sets.</summary>
internal sealed class TestService(IServiceProvider provider, Methods methods) : Conformance.ConformanceBase
{
    public override async Task<Payload> Echo(Payload request, ServerCallContext context) =>
        Answer.Of(await methods.Echo(provider, context));
}

/// <summary>A part of a service that is disposed asynchronously, with the scope that it belongs to.</summary>
internal sealed class Part(Diary diary) : IAsyncDisposable
{
    public int Number { get; } = diary.NextNumber();

    public async ValueTask DisposeAsync()
    {
        await Task.Yield();
        diary.Note($"part {Number} disposed");
    }
}

/// <summary>A service that answers with the number of its part.</summary>
internal sealed class NumberedService(Part part, Diary diary) : Conformance.ConformanceBase, IDisposable
{
    public override Task<Payload> Echo(Payload request, ServerCallContext context) =>
        Task.FromResult(Answer.Of(part.Number.ToString(System.Globalization.CultureInfo.InvariantCulture)));

    public void Dispose() => diary.Note($"service {part.Number} disposed");
}

/// <summary>Another service, which has nothing to do with the first.</summary>
internal sealed class RecordsService : Records.RecordsBase
{
    public override Task<TinyRecord> EchoTiny(TinyRecord request, ServerCallContext context) =>
        Task.FromResult(request);
}

internal static class Answer
{
    public static Payload Of(string text) => new() { Data = ByteString.CopyFromUtf8(text) };

    /// <summary>Calls Echo and returns the text of the answer.</summary>
    public static async Task<string> AskAsync(
        this Conformance.ConformanceClient client, CallOptions options = default) =>
        (await client.EchoAsync(new Payload(), options)).Data.ToStringUtf8();

    /// <summary>Calls Echo and returns the text of the answer.</summary>
    public static Task<string> AskAsync(this ChannelBase channel, CallOptions options = default) =>
        new Conformance.ConformanceClient(channel).AskAsync(options);
}
