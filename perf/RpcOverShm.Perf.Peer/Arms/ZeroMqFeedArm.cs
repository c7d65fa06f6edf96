using NetMQ;
using NetMQ.Sockets;

namespace RpcOverShm.Perf.Peer.Arms;

/// <summary>
/// ZeroMQ's publish and subscribe by NetMQ, over TCP on loopback: a socket and a thread for each reader. Queues have no
/// limit, because a publisher drops what is beyond it.
/// </summary>
internal sealed class ZeroMqFeedArm : IArm
{
    private Publisher? _feed; // of the process that serves

    public string Name => "zeromq-pub";

    public IFeed Feed => _feed ?? throw new InvalidOperationException("This process does not serve.");

    public bool Supports(LoadShape shape, CallerKind caller) => false;

    public Task<string> ServeAsync(string place)
    {
        var socket = new XPublisherSocket();
        socket.Options.SendHighWatermark = 0;
        socket.Options.XPubVerbose = true; // every subscription is told, not only the first
        int port = socket.BindRandomPort("tcp://127.0.0.1");
        _feed = new Publisher(socket);
        return Task.FromResult(port.ToString(CultureInfo.InvariantCulture));
    }

    public IArmClient MakeClient(string place) => new Client(place);

    // A socket belongs to one thread: that of the orders.
    private sealed class Publisher(XPublisherSocket socket) : IFeed
    {
        private int _subscribers;

        public int Subscribers
        {
            get
            {
                while (socket.TryReceiveFrameBytes(out byte[]? told))
                {
                    _subscribers += told is [1] ? 1 : 0;
                }

                return _subscribers;
            }
        }

        public void Publish(byte[] message)
        {
            var frame = new Msg();
            frame.InitPool(message.Length);
            message.CopyTo(frame.Slice());
            socket.Send(ref frame, more: false);
            frame.Close();
        }
    }

    private sealed class Client(string port) : IArmClient
    {
        public Task SubscribeAsync(FeedReader reader)
        {
            new Thread(() => Read(reader)) { IsBackground = true, Name = "subscriber" }.Start();
            return Task.CompletedTask;
        }

        private void Read(FeedReader reader)
        {
            using var socket = new SubscriberSocket();
            socket.Options.ReceiveHighWatermark = 0;
            socket.Connect($"tcp://127.0.0.1:{port}");
            socket.SubscribeToAnyTopic();
            var frame = new Msg();
            frame.InitEmpty();
            while (true)
            {
                socket.Receive(ref frame);
                reader.Take(frame.Slice());
            }
        }
    }
}
