using System.Text;
using Grpc.Core;
using Microsoft.Extensions.Logging.Abstractions;
using RpcOverShm.Buffers;
using RpcOverShm.Connections;
using RpcOverShm.Fuzz.Frames;
using RpcOverShm.Links;
using RpcOverShm.Protocol;
using RpcOverShm.Scheduling;
using RpcOverShm.Servers;

namespace RpcOverShm.Fuzz.Targets;

/// <summary>The frames of a hostile client: real calls of methods of each shape.</summary>
internal sealed class FramesTarget() : FrameTarget(isAcceptor: true)
{
    private const FrameFlags Whole = FrameFlags.HasMessage | FrameFlags.HalfClose;

    private static readonly MethodTable s_methods = new([Service()], []);

    private ServerConnection? _server;

    public override IEnumerable<byte[]> Seeds =>
    [
        [.. Start(0, "U", Whole, [1, 2, 3])],
        [.. Start(0, "U", default, []), .. Message(0, [1, 2], 4), .. Chunk(0, [3, 4], FrameFlags.HalfClose)],
        [
            .. Start(1, "C", default, []), .. Message(1, [5], 1), .. Message(1, [6], 1),
            .. Step.Of(FrameKind.HalfClose, call: Step.CallOf(1)),
        ],
        [
            .. Start(0, "S", Whole, new byte[200]), .. Credit(0), .. Credit(0),
        ],
        [
            .. Start(0, "D", default, []), .. Message(0, [1], 1), .. Start(1, "D", FrameFlags.HasMessage, [9]),
            .. Message(0, [2], 1), .. Step.Of(FrameKind.Cancel, call: Step.CallOf(0)),
            .. Step.Of(FrameKind.HalfClose, call: Step.CallOf(1)),
        ],
        [
            .. Step.Of(FrameKind.CallStart, FrameFlags.HeadContinues, Step.CallOf(0), Head("U").AsSpan(0, 3)),
            .. Step.Of(FrameKind.HeadChunk, default, Step.CallOf(0), Head("U").AsSpan(3)),
            .. Message(0, [7], 1, Single),
        ],
        [.. Start(0, "?", Whole, []), .. Start(0, "U", Whole, [], 2), .. Step.Of(FrameKind.GoAway)],
        [
            .. Start(0, "U", Whole | FrameFlags.OneWay, [1]), .. Start(0, "F", Whole | FrameFlags.OneWay, [], 2),
            .. Start(0, "D", Whole | FrameFlags.OneWay, [], 3),
        ],
        [
            .. Start(0, "U", FrameFlags.OneWay, []), .. Message(0, [1, 2], 4, FrameFlags.Single),
            .. Chunk(0, [3, 4], FrameFlags.HalfClose), .. Start(0, "U", Whole, [5], 2),
        ],
        [
            .. Start(0, "U", FrameFlags.OneWay, []), .. Step.Of(FrameKind.Cancel, call: Step.CallOf(0)),
            .. Start(0, "U", Whole | FrameFlags.OneWay, [1], 2), Step.FirstAction, 0, 0, 0, 0, 0, 0, 0,
        ],
        [.. Start(0, "F", Whole, []), .. Start(1, "D", default, []), Step.FirstAction, 0, 0, 0, 0, 0, 0, 0],
    ];

    protected override bool IsAllEnded => _server!.PendingOrRunning == 0;

    private static FrameFlags Single => FrameFlags.Single | FrameFlags.HalfClose;

    protected override Connection Connect(PeerLink link)
    {
        var limits = new ServerLimits(
            (int)MaxCalls,
            MaxCalls: null,
            MaxQueuedPerConnection: 2,
            MaxBytesPerConnection: 20_000,
            MaxBytes: 20_000,
            TimeSpan.FromHours(1));
        var settings = new ServerSettings
        {
            MaxReceiveMessageBytes = 1000,
            MaxSendMessageBytes = null,
            CallWindow = Window,
            Limits = limits,
            MaxCallbackDepth = 1,
            MaxMetadataBytes = 1000,
            HasDetailedErrors = true,
            Scheduling = SchedulingMode.Adaptive,
            Methods = s_methods,
            Logger = NullLogger.Instance,
        };
        _server = new ServerConnection(link, settings, new SharedLimits(limits));
        return _server.Connection;
    }

    // The server stops while calls run.
    protected override void Act(byte action) =>
        _server!.EndAllCalls(new Status(StatusCode.Unavailable, "The server stops."));

    private static byte[] Start(int slot, string method, FrameFlags flags, byte[] body, int generation = 1) =>
        Step.Of(FrameKind.CallStart, flags, Step.CallOf(slot, generation), Head(method), body);

    private static byte[] Message(int slot, byte[] part, ushort whole, FrameFlags flags = default) =>
        Step.Of(FrameKind.Message, flags, Step.CallOf(slot), body: part, argument: whole);

    private static byte[] Chunk(int slot, byte[] part, FrameFlags flags) =>
        Step.Of(FrameKind.MessageChunk, flags, Step.CallOf(slot), body: part);

    private static byte[] Credit(int slot) => Step.Of(FrameKind.Credit, call: Step.CallOf(slot), argument: 500);

    private static byte[] Head(string method)
    {
        using var head = new PooledBufferWriter();
        new RequestHead { Method = Encoding.UTF8.GetBytes($"/f/{method}") }.Encode(head);
        return head.WrittenSpan.ToArray();
    }

    private static ServerServiceDefinition Service() => ServerServiceDefinition.CreateBuilder()
        .AddMethod(MethodOf(MethodType.Unary, "U"), (request, _) => Task.FromResult(request))
        .AddMethod(MethodOf(MethodType.Unary, "F"), FailAsync)
        .AddMethod(MethodOf(MethodType.ClientStreaming, "C"), CountAsync)
        .AddMethod(MethodOf(MethodType.ServerStreaming, "S"), RepeatAsync)
        .AddMethod(MethodOf(MethodType.DuplexStreaming, "D"), EchoAsync)
        .Build();

    private static Task<byte[]> FailAsync(byte[] request, ServerCallContext context) =>
        throw new InvalidOperationException("The method fails.");

    private static async Task<byte[]> CountAsync(IAsyncStreamReader<byte[]> requests, ServerCallContext context)
    {
        byte count = 0;
        while (await requests.MoveNext(CancellationToken.None))
        {
            count++;
        }

        return [count];
    }

    private static async Task RepeatAsync(
        byte[] request, IServerStreamWriter<byte[]> responses, ServerCallContext context)
    {
        for (int i = 0; i < 4; i++)
        {
            await responses.WriteAsync(request);
        }
    }

    private static async Task EchoAsync(
        IAsyncStreamReader<byte[]> requests, IServerStreamWriter<byte[]> responses, ServerCallContext context)
    {
        while (await requests.MoveNext(CancellationToken.None))
        {
            await responses.WriteAsync(requests.Current);
        }
    }

    private static Method<byte[], byte[]> MethodOf(MethodType type, string name)
    {
        Marshaller<byte[]> bytes = Marshallers.Create<byte[]>(message => message, bytes => bytes);
        return new Method<byte[], byte[]>(type, "f", name, bytes, bytes);
    }
}
