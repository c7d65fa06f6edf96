using System.Text;
using Grpc.Core;
using RpcOverShm.Buffers;
using RpcOverShm.Links;
using RpcOverShm.Protocol;
using RpcOverShm.Scheduling;
using RpcOverShm.Servers;
using RpcOverShm.Tests.Connections;
using RpcOverShm.Tests.Links;

namespace RpcOverShm.Tests.Servers;

/// <summary>A server's connection with two methods, and a client worked by hand.</summary>
internal sealed class ServedRig : IDisposable
{
    private readonly LinkPair _links;
    private int _calls;

    public ServedRig(
        ServerLimits? limits = null, string? encoding = null, LinkPair? links = null, bool isUnaryOrdered = false)
    {
        _links = links ?? new LinkPair();
        ServerLimits bounds = limits ?? Limits;
        ServerServiceDefinition service = ServerServiceDefinition.CreateBuilder()
            .AddMethod(MethodOf(MethodType.Unary), (request, context) => Unary(request, context))
            .AddMethod(
                MethodOf(MethodType.ServerStreaming),
                (request, responses, context) => Stream(request, responses, context))
            .Build();
        IReadOnlySet<string>? ordered =
            isUnaryOrdered ? new HashSet<string> { MethodOf(MethodType.Unary).FullName } : null;
        var methods = new MethodTable([service], [], ordered);
        Server = new ServerConnection(
            _links.Server,
            SettingsOf(service) with { Limits = bounds, ResponseEncoding = encoding, Methods = methods },
            new SharedLimits(bounds));
        Server.Connection.Start();
        Peer = new RawPeer(_links.Client);
    }

    /// <summary>Limits that no test reaches.</summary>
    public static ServerLimits Limits { get; } =
        new(
            MaxCallsPerConnection: 100,
            MaxCalls: null,
            MaxQueuedPerConnection: 100,
            1 << 20,
            1 << 20,
            TimeSpan.FromSeconds(30));

    public ServerConnection Server { get; }

    public RawPeer Peer { get; }

    public UnaryServerMethod<string, string> Unary { get; init; } = (request, _) => Task.FromResult(request);

    public ServerStreamingServerMethod<string, string> Stream { get; init; } = (_, _, _) => Task.CompletedTask;

    public static Method<string, string> MethodOf(MethodType type, string service = "test.Rig") =>
        new(type, service, $"{type}", Marshallers.StringMarshaller, Marshallers.StringMarshaller);

    public static ServerSettings SettingsOf(params ServerServiceDefinition[] services) => new()
    {
        MaxReceiveMessageBytes = 1000,
        MaxSendMessageBytes = null,
        CallWindow = 64 << 10,
        Limits = Limits,
        MaxCallbackDepth = 16,
        MaxMetadataBytes = 1000,
        HasDetailedErrors = false,
        Scheduling = SchedulingMode.Adaptive,
        Methods = new MethodTable(services, []),
        Logger = new LogGuard(),
    };

    /// <summary>Sends the first frame of a call, with the whole request unless the flags say otherwise.</summary>
    public CallId Call(
        MethodType type,
        FrameFlags flags = FrameFlags.HasMessage | FrameFlags.HalfClose,
        string? host = null,
        string? method = null,
        int? slot = null)
    {
        var id = new CallId(slot ?? _calls++, generation: 1, isFromAcceptor: false);
        using var head = new PooledBufferWriter();
        byte[] name = Encoding.UTF8.GetBytes(method ?? MethodOf(type).FullName);
        new RequestHead { Method = name, Host = host }.Encode(head);
        byte[] body = (flags & FrameFlags.HasMessage) == 0 ? [] : "request"u8.ToArray();
        Peer.Send(new RawFrame(FrameKind.CallStart, id, flags, head.WrittenSpan.ToArray(), body));
        return id;
    }

    public void Dispose()
    {
        Server.Connection.Close(new CloseReason(CloseKind.Local, "The test is over."));
        Assert.That(Server.Connection.Closed.Wait(Timeouts.Wait), "The connection ends.");
        Peer.Dispose();
        _links.Dispose();
    }
}
