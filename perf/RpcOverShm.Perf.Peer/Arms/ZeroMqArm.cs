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
        LinkEcho.StartServing(new Link(socket), Name);
        return Task.FromResult(port.ToString(CultureInfo.InvariantCulture));
    }

    public IArmClient MakeClient(string place) => new Client(place);

    private sealed class Client(string port) : IArmClient
    {
        public Task<IEcho> OpenEchoAsync(CallerKind caller) =>
            Task.FromResult<IEcho>(new LinkEcho(new Link(new RequestSocket($">tcp://127.0.0.1:{port}"))));
    }

    private sealed class Link(NetMQSocket socket) : IMessageLink
    {
        private byte[] _received = [];

        public ReadOnlySpan<byte> Received => _received;

        public void Send(ReadOnlySpan<byte> message)
        {
            var frame = new Msg();
            frame.InitPool(message.Length);
            message.CopyTo(frame.Slice());
            socket.Send(ref frame, more: false);
            frame.Close();
        }

        public void Receive() => _received = socket.ReceiveFrameBytes();
    }
}
