using NetMQ;
using NetMQ.Sockets;

namespace RpcOverShm.Perf.Peer.Arms;

/// <summary>ZeroMQ by NetMQ: a request socket and a response socket over TCP on loopback, default options.</summary>
internal sealed class ZeroMqArm : IArm
{
    public string Name => "zeromq";

    /// <summary>A socket belongs to one thread, which blocks in it.</summary>
    public bool Supports(LoadShape shape, CallerKind caller) =>
        shape == LoadShape.Echo && caller == CallerKind.Blocking;

    public Task<string> ServeAsync(string place)
    {
        var socket = new ResponseSocket();
        int port = socket.BindRandomPort("tcp://127.0.0.1");
        new Thread(() => Serve(socket)) { IsBackground = true, Name = Name }.Start();
        return Task.FromResult(port.ToString(CultureInfo.InvariantCulture));
    }

    public IArmClient MakeClient(string place) => new Client(place);

    private static void Serve(ResponseSocket socket)
    {
        var answer = new EchoAnswer();
        while (true)
        {
            byte[] request = socket.ReceiveFrameBytes();
            ServedTally.CountRequest(request);
            socket.SendFrame(answer.TryMake(request, out Memory<byte> made) ? made.ToArray() : request);
        }
    }

    private sealed class Client(string port) : IArmClient
    {
        public Task<IEcho> OpenEchoAsync(CallerKind caller) =>
            Task.FromResult<IEcho>(new Echo(new RequestSocket($">tcp://127.0.0.1:{port}")));
    }

    private sealed class Echo(RequestSocket socket) : IEcho
    {
        private byte[] _request = [];
        private byte[] _reply = [];

        public ReadOnlySpan<byte> Reply => _reply;

        public Memory<byte> Prepare(ExchangeSize size) =>
            _request = _request.Length == size.RequestBytes ? _request : new byte[size.RequestBytes];

        public void Call()
        {
            socket.SendFrame(_request);
            _reply = socket.ReceiveFrameBytes();
        }

        public ValueTask CallAsync() => throw new NotSupportedException();
    }
}
