using Google.Rpc;

namespace RpcOverShm.FunctionalTests.Faults;

/// <summary>Protobuf messages in headers and trailers.</summary>
[EveryRig]
internal sealed class TypedMetadataTests(RigKind kind) : RigFixture(kind)
{
    private const string Key = "error-info-bin";

    [Test]
    public async Task Messages_InHeadersAndTrailers_Arrive()
    {
        var sent = new ErrorInfo { Reason = "r\u00fcckw\u00e4rts", Metadata = { ["a"] = "b" } };
        ErrorInfo? seen = null;
        CallRig rig = await StartAsync(new Script
        {
            Unary = async (request, context) =>
            {
                context.RequestHeaders.TryGetMessage(Key, out seen);
                Metadata headers = [];
                headers.AddMessage(Key, seen!);
                await context.WriteResponseHeadersAsync(headers);
                context.ResponseTrailers.AddMessage(Key, seen!);
                return request;
            },
        });
        Metadata metadata = [];
        metadata.AddMessage(Key, sent);

        using AsyncUnaryCall<Payload> call = rig.Client.UnaryAsync(Payloads.Empty, new CallOptions(metadata));
        await call.ResponseAsync.Bounded();

        Assert.That(seen, Is.EqualTo(sent));
        Assert.That((await call.ResponseHeadersAsync.Bounded()).TryGetMessage(Key, out ErrorInfo? header));
        Assert.That(call.GetTrailers().TryGetMessage(Key, out ErrorInfo? trailer));
        Assert.That((header, trailer), Is.EqualTo((sent, sent)));
    }

    [Test]
    public async Task MalformedHeader_IsAnErrorThatNamesTheKey()
    {
        FormatException? error = null;
        CallRig rig = await StartAsync(new Script
        {
            Unary = (request, context) =>
            {
                error = Assert.Throws<FormatException>(
                    () => context.RequestHeaders.TryGetMessage(Key, out ErrorInfo? _));
                return Task.FromResult(request);
            },
        });
        var options = new CallOptions(new Metadata { { Key, new byte[] { 0x0A, 0xFF } } });

        await rig.Client.UnaryAsync(Payloads.Empty, options).ResponseAsync.Bounded();

        Assert.That(error!.Message, Does.Contain(Key).And.Contains("google.rpc.ErrorInfo"));
    }
}
