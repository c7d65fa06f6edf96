using Grpc.Testing;
using Payload = Grpc.Testing.Payload;

namespace RpcOverShm.FunctionalTests.Interop;

/// <summary>
/// The base of gRPC's interop cases: doc/interop-test-descriptions.md of grpc/grpc defines them, their sizes and
/// assertions. A test's description is the name of its case there.
/// </summary>
internal abstract class InteropFixture(RigKind kind) : RigFixture(kind)
{
    protected const int LargeRequestBytes = 271_828;
    protected const int LargeResponseBytes = 314_159;

    protected static int[] RequestSizes { get; } = [27_182, 8, 1_828, 45_904];

    protected static int[] ResponseSizes { get; } = [31_415, 9, 2_653, 58_979];

    protected static SimpleRequest LargeRequest => new()
    {
        ResponseSize = LargeResponseBytes,
        Payload = InteropTestService.Zeros(LargeRequestBytes),
    };

    protected async Task<TestService.TestServiceClient> StartClientAsync(InteropTestService? service = null)
    {
        CallRig rig = await StartAsync(null, TestService.BindService(service ?? new InteropTestService()));
        return new TestService.TestServiceClient(rig.Channel);
    }

    /// <summary>Creates a request of a stream that asks for one response.</summary>
    protected static StreamingOutputCallRequest StreamRequest(int requestBytes, int responseBytes) => new()
    {
        ResponseParameters = { new ResponseParameters { Size = responseBytes } },
        Payload = InteropTestService.Zeros(requestBytes),
    };

    /// <summary>Asserts that the body has the given length and contains zeros only.</summary>
    protected static void AssertZeros(Payload payload, int bytes)
    {
        Assert.That(payload.Body.Length, Is.EqualTo(bytes));
        Assert.That(payload.Body.Span.ContainsAnyExcept((byte)0), Is.False, "a byte is not zero");
    }

    /// <summary>Asserts that the next message contains the given number of zeros.</summary>
    protected static async Task AssertNextAsync(IAsyncStreamReader<StreamingOutputCallResponse> responses, int bytes)
    {
        Assert.That(await responses.MoveNext(CancellationToken.None).Bounded(), "the stream has ended");
        AssertZeros(responses.Current.Payload, bytes);
    }

    /// <summary>Asserts that no message follows and that the call succeeded.</summary>
    protected static async Task AssertEndAsync(
        IAsyncStreamReader<StreamingOutputCallResponse> responses, Func<Status> getStatus)
    {
        Assert.That(await responses.MoveNext(CancellationToken.None).Bounded(), Is.False);
        Assert.That(getStatus().StatusCode, Is.EqualTo(StatusCode.OK));
    }
}
