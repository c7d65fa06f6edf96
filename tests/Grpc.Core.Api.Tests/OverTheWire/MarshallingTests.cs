using System.Buffers;

namespace Grpc.Core.Api.Tests.OverTheWire;

/// <summary>Messages of every size through every kind of marshaller.</summary>
public class MarshallingTests
{
    private static readonly Marshaller<byte[]> s_plain = Marshallers.Create<byte[]>(bytes => bytes, bytes => bytes);

    private static readonly Marshaller<byte[]> s_wholeArray = Marshallers.Create(
        (byte[] bytes, SerializationContext context) => context.Complete(bytes),
        context => context.PayloadAsNewBuffer());

    private static readonly Marshaller<byte[]> s_buffers = Marshallers.Create(
        (byte[] bytes, SerializationContext context) =>
        {
            context.SetPayloadLength(bytes.Length);
            context.GetBufferWriter().Write(bytes);
            context.Complete();
        },
        context => context.PayloadAsReadOnlySequence().ToArray());

    private static readonly TestCaseData[] s_marshallers =
    [
        new TestCaseData(s_plain).SetArgDisplayNames("plain"),
        new TestCaseData(s_wholeArray).SetArgDisplayNames("whole array"),
        new TestCaseData(s_buffers).SetArgDisplayNames("buffers"),
    ];

    [TestCaseSource(nameof(s_marshallers))]
    public async Task Message_ThereAndBack_IsTheSame(Marshaller<byte[]> marshaller)
    {
        var method = new Method<byte[], byte[]>(MethodType.Unary, "test.Bytes", "Echo", marshaller, marshaller);
        await using var rig = GrpcCoreRig.Start(builder => builder.AddMethod(
            method, (byte[] request, ServerCallContext _) => Task.FromResult(request)));

        foreach (var size in new[] { 0, 1, 1000, 1_000_000 })
        {
            var message = new byte[size];
            new Random(size).NextBytes(message);

            using var call = rig.Invoker.AsyncUnaryCall(method, null, new CallOptions(), message);

            Assert.That(await call.Bounded(), Is.EqualTo(message));
        }
    }
}
