using Grpc.Core;
using Microsoft.Extensions.Logging.Abstractions;
using RpcOverShm.Buffers;
using RpcOverShm.Clients;
using RpcOverShm.Connections;
using RpcOverShm.Fuzz.Frames;
using RpcOverShm.Links;
using RpcOverShm.Protocol;
using RpcOverShm.Scheduling;

namespace RpcOverShm.Fuzz.Targets;

/// <summary>
/// The frames of a hostile server: answers to a unary call and to one with a stream of responses, which the client has
/// started before. Further calls start, and calls end at the client, as the input's actions say.
/// </summary>
internal sealed class ResponsesTarget() : FrameTarget(isAcceptor: false)
{
    private static readonly BytesMethod s_method = new();

    private readonly List<ClientCall> _calls = [];
    private readonly List<Task> _tasks = [];
    private Connection? _connection;

    public override IEnumerable<byte[]> Seeds =>
    [
        [.. End(0, default, [1, 2])],
        [.. Headers(0), .. Step.Of(FrameKind.Message, FrameFlags.Single, 8, body: [1], argument: 1), .. End(0)],
        [
            .. Headers(1), .. Message(1, [1], 1), .. Message(1, [2, 3], 4),
            .. Step.Of(FrameKind.MessageChunk, default, Step.CallOf(1), body: [4, 5]), .. End(1),
        ],
        [.. End(0, new Status(StatusCode.Aborted, "why")), .. Action(0xF0), .. End(0, generation: 2, body: [1])],
        [
            .. Step.Of(FrameKind.End, FrameFlags.HeadContinues, Step.CallOf(1), [10, 1]),
            .. Step.Of(FrameKind.HeadChunk, default, Step.CallOf(1), [1, 0, 0, 0, 65]),
        ],
        [.. Action(0xF1), .. Action(0xF2), .. Message(2, [1], 1), .. End(2), .. Step.Of(FrameKind.GoAway)],
        [.. Step.Of(FrameKind.Credit, default, Step.CallOf(0), argument: 100), .. Action(0xF3), .. End(0)],
    ];

    protected override bool IsAllEnded => _tasks.TrueForAll(task => task.IsCompleted);

    protected override void CheckEnded()
    {
        foreach (Task task in _tasks)
        {
            Require(
                task.IsCompletedSuccessfully || task.Exception?.InnerException is RpcException,
                $"A call fails with a status and nothing else: {task.Exception}");
        }
    }

    protected override Connection Connect(PeerLink link)
    {
        _calls.Clear();
        _tasks.Clear();
        _connection = new Connection(link, SchedulingMode.Adaptive, accept: null, onGoAway: null);
        StartUnary();
        StartStream();
        return _connection;
    }

    protected override void Act(byte action)
    {
        switch (action)
        {
            case 0xF0 when _calls.Count < 20:
                StartUnary();
                break;
            case 0xF1 when _calls.Count < 20:
                StartStream();
                break;
            case 0xF2:
                _calls[^1].Dispose();
                break;
            case 0xF3:
                _calls[0].OnDeadline();
                break;
        }
    }

    private static byte[] Headers(int slot) => Step.Of(FrameKind.Headers, default, Step.CallOf(slot), [0, 0]);

    private static byte[] Message(int slot, byte[] part, ushort whole) =>
        Step.Of(FrameKind.Message, default, Step.CallOf(slot), body: part, argument: whole);

    private static byte[] Action(byte kind) => [kind, 0, 0, 0, 0, 0, 0, 0];

    private static byte[] End(int slot, Status status = default, byte[]? body = null, int generation = 1)
    {
        using var head = new PooledBufferWriter();
        new StatusTrailer(status).Encode(head);
        FrameFlags flags = body is null ? FrameFlags.None : FrameFlags.HasMessage;
        return Step.Of(FrameKind.End, flags, Step.CallOf(slot, generation), head.WrittenSpan, body);
    }

    private void StartUnary()
    {
        var call = new SingleResponseCall<byte[]>(s_method, latch: null);
        if (TryStart(call))
        {
            _tasks.Add(call.ResponseAsync);
        }
    }

    private void StartStream()
    {
        var call = new StreamResponseCall<byte[]>(s_method);
        if (TryStart(call))
        {
            _tasks.Add(ReadAllAsync(call));
        }
    }

    private bool TryStart(ClientCall call)
    {
        const FrameFlags Whole = FrameFlags.HasMessage | FrameFlags.HalfClose;
        bool isStarted = call.TryArm(default)
            && call.TryAttach(_connection!)
            && _connection!.StartCall(call, Whole, "head"u8, "request"u8) == StartResult.Started;
        if (isStarted)
        {
            _calls.Add(call);
        }

        return isStarted;
    }

    private static async Task ReadAllAsync(StreamResponseCall<byte[]> call)
    {
        while (await call.Responses.MoveNext(CancellationToken.None))
        {
        }
    }

    private sealed class BytesMethod() : ResponseMethod<byte[]>(
        Settings(), new Method<byte[], byte[]>(MethodType.Unary, "f", "U", s_bytes, s_bytes), s_bytes)
    {
        private static readonly Marshaller<byte[]> s_bytes =
            Marshallers.Create<byte[]>(message => message, bytes => bytes);

        public override void Start(ClientCall call, object snapshot) =>
            throw new FuzzFindingException("A call without a snapshot is not started again.");

        public override byte[]? CreateEmptyResponse() => null;

        private static new ClientSettings Settings() => new()
        {
            MaxReceiveMessageBytes = 1000,
            MaxSendMessageBytes = null,
            CallWindow = Window,
            Authority = "",
            Scheduling = SchedulingMode.Adaptive,
            Logger = NullLogger.Instance,
        };
    }
}
