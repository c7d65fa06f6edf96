using Microsoft.Win32.SafeHandles;
using RpcOverShm.Buffers;
using RpcOverShm.FunctionalTests.Handles;
using RpcOverShm.FunctionalTests.Hostile;
using RpcOverShm.Protocol;

namespace RpcOverShm.FunctionalTests.TwoProcess;

/// <summary>
/// Clients that lie about handles, against a server in another process. A lie ends the liar's connection; what is
/// allowed is served. In each case the server lives on, serves an honest client and keeps nothing.
/// </summary>
[OneMode]
[LinuxOnly("Its peer is played by hand over a Unix socket.")]
internal sealed class HandleAttackTests : StandingPeerFixture
{
    private const string MethodName = "/test.Handles/Unary";

    private static readonly Method<string, string> s_method = new(
        MethodType.Unary, "test.Handles", "Unary", Marshallers.StringMarshaller, Marshallers.StringMarshaller);

    private PeerProcess _server = null!;
    private int _descriptors;

    private static IEnumerable<Violation> Lies =>
    [
        Notice("without a descriptor", new(1, 1), "passed 0 descriptors", descriptors: 0),
        Notice("with a descriptor more", new(1, 1), "passed 2 descriptors", descriptors: 2),
        Notice("with a descriptor less", new(1, 16), "passed 15 descriptors", descriptors: 15),
        Notice("with 17 descriptors", new(1, 16), "more than 16 descriptors", descriptors: 17),
        Notice("with 100 descriptors", new(1, 100), "more than 16 descriptors", descriptors: 100),
        Notice("of none", new(1, 0), "1 to 16 come together", descriptors: 1),
        Notice("of 17", new(1, 17), "1 to 16 come together", descriptors: 16),
        Notice("out of turn", new(2, 1), "the next one is 1"),
        Notice("of a negative number", new(long.MinValue, 1), "numbers begin with 1"),
        new("frame of no set", static peer => Name(peer, 0), "named handles with the number 0"),
        new("frame of a negative number", static peer => Name(peer, -1), "named handles with the number -1"),
        new("frame with 7 bytes", static peer => Frame(peer, new byte[7]), "Handles with 7 bytes"),
        new("frame with 16 bytes", static peer => Frame(peer, new byte[16]), "Handles with 16 bytes"),
        new("call with a set twice", StartTwice, "named handles with the number 5"),
        new("head of a negative number", static peer => Start(peer, -5, 0), "named handles with the number -5"),
        new(
            "one-way call with a set",
            static peer => Start(peer, 1, 0, more: FrameFlags.OneWay),
            "a one-way call with handles"),
        new("one-way call with a frame", NameForOneWay, "handles for one-way call"),
        new("sets without end that do not come", NameManyAsync, "of which 1024 sets have not come"),
    ];

    public static IEnumerable<TestCaseData> LieCases =>
        Lies.Select(lie => new TestCaseData(lie) { TestName = $"Lie about handles: {lie.Name}" });

    [SetUp]
    public async Task StartAsync()
    {
        _server = await TakePeerAsync();
        await _server.DoAsync($"serve-handles {Address} {Directory.Word}");
        await CallHonestlyAsync();
        _descriptors = ProcessResources.CountDescriptors("", _server.Id);
    }

    [TearDown]
    public async Task ServerIsUnharmedAsync()
    {
        await CallHonestlyAsync();
        await Timeouts.Eventually(() => ProcessResources.CountDescriptors("", _server.Id) <= _descriptors);
    }

    [TestCaseSource(nameof(LieCases))]
    public async Task Lie_EndsTheConnectionOfTheLiar(object lie)
    {
        var violation = (Violation)lie;
        using RawPeer peer = await ConnectAsync();

        await violation.ActAsync(peer);

        Assert.That(await peer.ClosedAsync(), Does.Contain(violation.Complaint));
    }

    [Test]
    public async Task Handles_OnAConnectionWithoutThem_AreALie([Values] bool isInHead)
    {
        using RawPeer peer = await RawPeer.ConnectAsync(Directory.Combine(SocketName));

        Start(peer, isInHead ? 1 : 0, 0, isWhole: isInHead);
        if (!isInHead)
        {
            Frame(peer, new byte[8]);
        }

        Assert.That(await peer.ClosedAsync(), Does.Contain("on a connection without handles"));
    }

    [Test]
    public async Task Handles_OfAnotherConnection_AreNotThere()
    {
        using RawPeer owner = await ConnectAsync();
        using RawPeer thief = await ConnectAsync();
        using SafeFileHandle pipe = Descriptors.Pipe();
        Pass(owner, new HandleNotice(1, 1), pipe, 1);

        Start(thief, 1, 0, timeout: TimeSpan.FromMilliseconds(200));

        StatusTrailer end = StatusTrailer.Decode((await thief.ReceiveAsync(FrameKind.End)).Head);
        Assert.That(end.Status.StatusCode, Is.EqualTo(StatusCode.DeadlineExceeded), "It waits with its deadline.");
    }

    [Test]
    public async Task Flood_OfHandles_FailsCallsOnly()
    {
        using RawPeer peer = await ConnectAsync();
        using SafeFileHandle pipe = Descriptors.Pipe();
        for (int number = 1; number <= 500; number++)
        {
            HandleNotice notice = new(number, 16);
            await Timeouts.Eventually(() => TryPass(peer, notice, pipe));
        }

        Start(peer, 500, 0);

        StatusTrailer end = StatusTrailer.Decode((await peer.ReceiveAsync(FrameKind.End)).Head);
        Assert.That(end.Status.StatusCode, Is.EqualTo(StatusCode.ResourceExhausted));
        Assert.That(
            () => ProcessResources.CountDescriptors("", _server.Id),
            Is.LessThanOrEqualTo(_descriptors + 256 + 10).After(20_000, 10));
    }

    [Test]
    public async Task Handles_OfACallThatIsRefusedOrHasEnded_AreClosed()
    {
        using RawPeer peer = await ConnectAsync();
        using SafeFileHandle pipe = Descriptors.Pipe();
        Pass(peer, new HandleNotice(1, 2), pipe, 2);
        Start(peer, 1, 0, method: "/test.Handles/Nobody");
        StatusTrailer end = StatusTrailer.Decode((await peer.ReceiveAsync(FrameKind.End)).Head);
        Assert.That(end.Status.StatusCode, Is.EqualTo(StatusCode.Unimplemented));
        Pass(peer, new HandleNotice(2, 2), pipe, 2);

        peer.Send(FrameKind.Handles, new CallId(0, 1, isFromAcceptor: false), body: BitConverter.GetBytes(2L));

        await Timeouts.Eventually(() => ProcessResources.CountDescriptors("", _server.Id) <= _descriptors + 3);
        Start(peer, 0, 1);
        await peer.ReceiveAsync(FrameKind.End);
    }

    private static Violation Notice(string name, HandleNotice notice, string complaint, int descriptors = 1) => new(
        $"notice {name}",
        peer =>
        {
            using SafeFileHandle pipe = Descriptors.Pipe();
            Pass(peer, notice, pipe, descriptors);
        },
        complaint);

    private static void Pass(RawPeer peer, HandleNotice notice, SafeFileHandle handle, int count) =>
        RawDescriptorSender.SendMany(peer.Socket, Encode(notice), handle, count);

    private static bool TryPass(RawPeer peer, HandleNotice notice, SafeFileHandle handle) =>
        RawDescriptorSender.TrySendMany(peer.Socket, Encode(notice), handle, notice.Count);

    private static byte[] Encode(HandleNotice notice)
    {
        byte[] bytes = new byte[FileNotice.EncodedBytes];
        notice.Encode(bytes);
        return bytes;
    }

    private static void Start(
        RawPeer peer,
        long handles,
        int call,
        bool isWhole = true,
        string method = MethodName,
        TimeSpan? timeout = null,
        FrameFlags more = FrameFlags.None)
    {
        using var head = new PooledBufferWriter();
        new RequestHead
        {
            Method = System.Text.Encoding.UTF8.GetBytes(method),
            Handles = handles,
            Timeout = timeout,
        }.Encode(head);
        peer.Send(
            FrameKind.CallStart,
            new CallId(call, 1, isFromAcceptor: false),
            more | (isWhole ? FrameFlags.HasMessage | FrameFlags.HalfClose : FrameFlags.None),
            head.WrittenSpan.ToArray(),
            isWhole ? System.Text.Encoding.UTF8.GetBytes("back") : null);
    }

    private static void NameForOneWay(RawPeer peer)
    {
        Start(peer, 0, 0, isWhole: false, more: FrameFlags.OneWay);
        peer.Send(FrameKind.Handles, new CallId(0, 1, isFromAcceptor: false), body: new byte[8]);
    }

    private static void StartTwice(RawPeer peer)
    {
        Start(peer, 5, 0);
        Start(peer, 5, 1);
    }

    // After a call that waits for the rest of its request.
    private static void Name(RawPeer peer, long number)
    {
        byte[] bytes = new byte[8];
        BitConverter.TryWriteBytes(bytes, number);
        Start(peer, 0, 7, isWhole: false);
        peer.Send(FrameKind.Handles, new CallId(7, 1, isFromAcceptor: false), body: bytes);
    }

    private static void Frame(RawPeer peer, byte[] bytes)
    {
        Start(peer, 0, 8, isWhole: false);
        peer.Send(FrameKind.Handles, new CallId(8, 1, isFromAcceptor: false), body: bytes);
    }

    private static async Task NameManyAsync(RawPeer peer)
    {
        Start(peer, 0, 7, isWhole: false);
        for (long number = 1; number <= 1025; number++)
        {
            byte[] bytes = BitConverter.GetBytes(number);
            var frame = new RawFrame(FrameKind.Handles, new CallId(7, 1, isFromAcceptor: false), Body: bytes);
            await peer.SendWhenThereIsSpaceAsync(frame);
        }
    }

    private Task<RawPeer> ConnectAsync() =>
        RawPeer.ConnectAsync(Directory.Combine(SocketName), features: Hello.HandlesFeature);

    // An honest client gets its handle back, and leaves nothing.
    private async Task CallHonestlyAsync()
    {
        using var things = new OpenThings();
        await using ShmChannel channel = OpenChannel(static options => options.Handles.AllowHandles = true);
        using var received = new ShmReceivedHandles();
        await channel.CreateCallInvoker().AsyncUnaryCall(
            s_method, null, default(CallOptions).WithHandles(received, things.Pipe("honest")), "back")
            .ResponseAsync.Bounded();
        SafeFileHandle back = (await received.TakeAsync().Bounded()).Single();
        Assert.That(await OpenThings.ReadAsync(back), Is.EqualTo("honest"));
    }
}
