using System.Buffers;
using System.Runtime.InteropServices;
using Grpc.Core;
using Microsoft.Extensions.Logging.Abstractions;
using RpcOverShm.Buffers;
using RpcOverShm.Protocol;
using RpcOverShm.Scheduling;
using RpcOverShm.Servers;

namespace RpcOverShm.Tests.Servers;

/// <summary>
/// The request of the first frame has exactly one owner: the reader of the request, or the release at the method's end.
/// </summary>
[TestFixture]
public class RequestMessagesTests
{
    private const int Rounds = 50_000;

    private static readonly Marshaller<string> s_texts = Marshallers.StringMarshaller;

    private static readonly TypedMethodHandler<string, string> s_handler = new(
        new Method<string, string>(MethodType.Unary, "test.Texts", "Echo", s_texts, s_texts),
        codecs: [],
        new UnaryServerMethod<string, string>(static (request, _) => Task.FromResult(request)));

    private static readonly ServerSettings s_settings = new()
    {
        MaxReceiveMessageBytes = null,
        MaxSendMessageBytes = null,
        CallWindow = PeerLimits.SmallestCallWindow,
        Limits = ServedRig.Limits,
        MaxCallbackDepth = 16,
        MaxMetadataBytes = 0,
        HasDetailedErrors = false,
        Scheduling = SchedulingMode.Adaptive,
        Logger = NullLogger.Instance,
    };

    [Test]
    public void TryTake_WhileTheCallEnds_TakesWhatIsNotReleased()
    {
        const int HeadStarts = 40;
        RequestMessages[] messages = [.. Enumerable.Range(0, Rounds).Select(_ => WithFirst())];
        byte[]?[] taken = new byte[]?[Rounds];
        byte[][] lent = new byte[Rounds][];
        using var start = new Barrier(2);
        var reader = TestThread.Start("reader", () => EachRound(round =>
        {
            Thread.SpinWait(round / HeadStarts % HeadStarts);
            taken[round] = messages[round].Inbound.TryTake(out ReceivedMessage bytes) ? ArrayOf(bytes) : null;
        }));
        EachRound(round =>
        {
            Thread.SpinWait(round % HeadStarts);
            messages[round].Abort();
            lent[round] = ArrayPool<byte>.Shared.Rent(1);
        });
        reader.Join();

        Assert.That(taken, Has.Some.Not.Null.And.Some.Null, "Either has been first.");
        Assert.That(taken.Zip(lent).Count(pair => ReferenceEquals(pair.First, pair.Second)), Is.Zero);

        void EachRound(Action<int> act)
        {
            for (int round = 0; round < Rounds; round++)
            {
                start.SignalAndWait();
                act(round);
            }
        }
    }

    // The message is complete with its first frame, so the object needs nothing of its call but the encoding.
    private static RequestMessages WithFirst()
    {
        var messages = new RequestMessages(s_handler, s_settings, new ServerCall(null!), budget: null);
        messages.AddFirst("first"u8, FrameFlags.HasMessage | FrameFlags.HalfClose);
        return messages;
    }

    private static byte[] ArrayOf(ReceivedMessage bytes) =>
        MemoryMarshal.TryGetArray(bytes.AsSequence().First, out ArraySegment<byte> array)
            ? array.Array!
            : throw new InvalidOperationException("A message of one piece has an array.");
}
