using System.Net.Sockets;
using Nerdbank.Streams;
using PolyType;
using StreamJsonRpc;

namespace RpcOverShm.Perf.JsonRpcPeer;

/// <summary>Both ends of <see cref="JsonRpcArm"/>, with default options: a connection for each caller.</summary>
internal sealed class JsonRpcEnds : JsonRpcArm
{
    public override Task<string> ServeAsync(string place)
    {
        Socket listener = MakeSocket();
        listener.Bind(new UnixDomainSocketEndPoint(place));
        listener.Listen();
        _ = Task.Run(async () =>
        {
            while (true)
            {
                var rpc = new JsonRpc(Handle(await listener.AcceptAsync()));
                rpc.AddLocalRpcTarget<IEchoService>(new CheckedEcho(), null);
                rpc.StartListening();
            }
        });
        return Task.FromResult(place);
    }

    public override IArmClient MakeClient(string place) => new Client(place);

    private static LengthHeaderMessageHandler Handle(Socket socket)
    {
        var stream = new NetworkStream(socket, ownsSocket: true);
        return new LengthHeaderMessageHandler(stream.UsePipe(), new MessagePackFormatter());
    }

    private static Socket MakeSocket() => new(AddressFamily.Unix, SocketType.Stream, ProtocolType.Unspecified);

    private sealed class Client(string place) : IArmClient
    {
        public async Task<IEcho> OpenEchoAsync(CallerKind caller)
        {
            Socket socket = MakeSocket();
            await socket.ConnectAsync(new UnixDomainSocketEndPoint(place));
            return new Echo(JsonRpc.Attach<IEchoService>(Handle(socket)));
        }
    }

    private sealed class Echo(IEchoService service) : ArrayEcho
    {
        private byte[] _reply = [];

        public override ReadOnlySpan<byte> Reply => _reply;

        // The figures count the allocations of the arm, and not this method's.
        [AsyncMethodBuilder(typeof(PoolingAsyncValueTaskMethodBuilder))]
        public override async ValueTask CallAsync() => _reply = await service.EchoAsync(Request);
    }
}

/// <summary>The server's side: incoming messages are checked, outgoing ones can be.</summary>
internal sealed class CheckedEcho : IEchoService
{
    public Task<byte[]> EchoAsync(byte[] message) => Task.FromResult(EchoAnswer.MakeOther(message) ?? message);
}

/// <summary>The service; StreamJsonRpc makes its client of it.</summary>
[JsonRpcContract]
[GenerateShape(IncludeMethods = MethodShapeFlags.PublicInstance)]
internal partial interface IEchoService
{
    Task<byte[]> EchoAsync(byte[] message);
}
