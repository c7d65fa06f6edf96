using System.Runtime.InteropServices;
using Microsoft.Win32.SafeHandles;
using RpcOverShm.FunctionalTests.Hostile;
using RpcOverShm.Linux;
using RpcOverShm.Protocol;
using RpcOverShm.Systems;

namespace RpcOverShm.FunctionalTests.TwoProcess;

/// <summary>
/// Clients that lie about loans, against a server in another process. A lie ends the liar's connection; what is allowed
/// is served. In each case the server lives on, serves an honest client and keeps nothing.
/// </summary>
[OneMode]
[LinuxOnly("Its peer is played by hand over a Unix socket.")]
internal sealed class LoanAttackTests : StandingPeerFixture
{
    private const int MiB = 1 << 20;
    private const int Block = LoanReference.BlockBytes;
    private const string MethodName = "/test.Loans/Unary";

    private PeerProcess _server = null!;
    private string _facts = "";
    private uint _calls;

    // Each after file 0 of 1 MiB, with 16 blocks, which the server has mapped.
    private static IEnumerable<Violation> Lies =>
    [
        Reference("to a file that was never passed", new(1, 0, Block), "file 1, which is not mapped"),
        Reference("to a file beyond all", new(uint.MaxValue, 0, Block), "file 4294967295, which is not mapped"),
        Reference("behind the file", new(0, 16, 1), "which has 1048576 bytes"),
        Reference("across the end of the file", new(0, 15, Block + 1), "which has 1048576 bytes"),
        Reference("to the last block there is", new(0, uint.MaxValue, Block), "which has 1048576 bytes"),
        Reference("of 2 GiB", new(0, 0, int.MaxValue), "which has 1048576 bytes"),
        Reference("of 4 GiB", new(0, 0, uint.MaxValue), "4294967295 bytes"),
        Reference("of no byte", new(0, 0, 0), "0 bytes"),
        Reference("of another length than its message", new(0, 0, Block), "for a message of 65537", more: 1),
        Return("of what was never on loan", "0000000000000000", "which is not on loan"),
        Return("of a block within a piece", "0000000001000000", "block 1 of file 0, which is not on loan"),
        Return("of somebody else's file", "0500000000000000", "block 0 of file 5, which is not on loan"),
        Return("of half an entry", "00000000", "in 4 bytes"),
        Return("of nothing", "", "in 0 bytes"),
        new("answer for a file that does not wait", peer => peer.Send(FrameKind.FileMapped, argument: 9), "file 9"),
        Notice("out of turn", new(2, MiB), "the next one is 1"),
        Notice("with a number again", new(0, MiB), "the next one is 1"),
        Notice("with a number beyond all", new(64, MiB), "file 64, of a kind that was not agreed on"),
        Notice("of a size that is no multiple", new(1, MiB + 1), "multiples of 65536 up to"),
        Notice("of a negative size", new(1, -Block), "multiples of 65536 up to"),
        Notice("of more than 1 GiB", new(1, (1L << 30) + Block), "multiples of 65536 up to"),
        Notice("without a descriptor", new(1, MiB), "passed 0 descriptors", descriptors: 0),
        Notice("with two descriptors", new(1, MiB), "passed 2 descriptors", descriptors: 2),
    ];

    public static IEnumerable<TestCaseData> LieCases =>
        Lies.Select(lie => new TestCaseData(lie) { TestName = $"Lie: {lie.Name}" });

    [SetUp]
    public async Task StartAsync()
    {
        _calls = 0;
        _server = await TakePeerAsync();
        await _server.DoAsync($"serve-loans {Address} {Directory.Word}");
        _facts = await _server.DoAsync("facts");
    }

    [TearDown]
    public async Task ServerIsUnharmedAsync()
    {
        await CallHonestlyAsync();
        long start = Environment.TickCount64;
        string now;
        while ((now = await _server.DoAsync("facts")) != _facts)
        {
            Assert.That(
                Environment.TickCount64 - start,
                Is.LessThan(Timeouts.Wait.TotalMilliseconds),
                () => $"The server has {now}, and had {_facts}.");
        }
    }

    [TestCaseSource(nameof(LieCases))]
    public async Task Lie_EndsTheConnectionOfTheLiar(object lie)
    {
        var violation = (Violation)lie;
        using RawPeer peer = await ConnectAsync();
        using MappedMemory memory = await PassFileAsync(peer);

        await violation.ActAsync(peer);

        Assert.That(await peer.ClosedAsync(), Does.Contain(violation.Complaint));
    }

    [Test]
    public async Task Loan_OfAnotherConnection_IsALie()
    {
        using RawPeer lender = await ConnectAsync();
        using MappedMemory memory = await PassFileAsync(lender);
        using RawPeer peer = await ConnectAsync();

        Refer(peer, new LoanReference(0, 0, Block));

        Assert.That(await peer.ClosedAsync(), Does.Contain("file 0, which is not mapped"));
        await AssertServedAsync(lender, new LoanReference(0, 0, Block));
    }

    [Test]
    public async Task Loan_OfAConnectionWithoutTheFeature_IsALie()
    {
        using RawPeer peer = await RawPeer.ConnectAsync(Directory.Combine(SocketName));

        Refer(peer, new LoanReference(0, 0, Block));

        Assert.That(await peer.ClosedAsync(), Does.Contain("on a connection without loans"));
    }

    [Test]
    public async Task Loan_ThatIsSentTwice_IsServedAndReturnedTwice()
    {
        using RawPeer peer = await ConnectAsync();
        using MappedMemory memory = await PassFileAsync(peer);

        await AssertServedAsync(peer, new LoanReference(0, 3, Block), new LoanReference(0, 3, Block));
    }

    [Test]
    public async Task Loans_ThatOverlap_AreServedAndReturned()
    {
        using RawPeer peer = await ConnectAsync();
        using MappedMemory memory = await PassFileAsync(peer);

        await AssertServedAsync(
            peer, new LoanReference(0, 0, MiB), new LoanReference(0, 1, 2 * Block), new LoanReference(0, 2, 1));
    }

    // Documented: the reader sees one byte or the other. More it cannot do.
    [Test]
    public async Task Loan_ThatIsWrittenAfterItWasSent_IsServed()
    {
        using RawPeer peer = await ConnectAsync();
        using MappedMemory memory = await PassFileAsync(peer);
        using var end = new CancellationTokenSource();
        Task writing = Timeouts.OnThread(() =>
        {
            for (byte value = 0; !end.IsCancellationRequested; value++)
            {
                memory.SpanAt(0, MiB).Fill(value);
            }
        });

        for (int i = 0; i < 20; i++)
        {
            await AssertServedAsync(peer, new LoanReference(0, 0, MiB));
        }

        await end.CancelAsync();
        await writing.Bounded();
    }

    [Test]
    public async Task Return_OfOnePieceTwice_IsALie()
    {
        using RawPeer peer = await ConnectAsync();
        using MappedMemory memory = await PassFileAsync(peer);
        await AssertServedAsync(peer, new LoanReference(0, 0, Block)); // the server has made its file 0
        ReceiveNotice(peer);
        peer.Send(FrameKind.FileMapped);
        Refer(peer, new LoanReference(0, 0, Block), _calls++);
        RawFrame lent = await peer.ReceiveAsync(FrameKind.Message);
        Assert.That(lent.Flags & FrameFlags.Loaned, Is.EqualTo(FrameFlags.Loaned));
        byte[] entry = lent.Body[..ReturnedPiece.SizeBytes]; // the reference begins with the fields of an entry

        peer.Send(FrameKind.Returned, body: entry);
        await peer.ReadByVictimAsync();
        peer.Send(FrameKind.Returned, body: entry);

        Assert.That(await peer.ClosedAsync(), Does.Contain("which is not on loan"));
    }

    [TestCase(MiB / 2, Descriptors.AllRequired, MiB / 2, TestName = "File: smaller than it says")]
    [TestCase(2 * MiB, Descriptors.AllRequired, 2 * MiB, TestName = "File: larger than it says")]
    [TestCase(MiB, Descriptors.AllRequired, MiB / 2, TestName = "File: without half of its pages")]
    [TestCase(MiB, Descriptors.AllRequired & ~Descriptors.SealShrink, MiB, TestName = "File: that can shrink")]
    [TestCase(MiB, 0, MiB, TestName = "File: without seals")]
    public async Task FileThatLies_IsRefusedAndItsPiecesAreALie(int size, int seals, int allocated)
    {
        using RawPeer peer = await ConnectAsync();
        using SafeFileHandle file = Descriptors.MemoryFile(size, seals, allocated);

        Pass(peer, new FileNotice(0, MiB), file);
        RawFrame answer = await peer.ReceiveAsync();
        Refer(peer, new LoanReference(0, 0, Block));

        Assert.That((answer.Kind, answer.Argument), Is.EqualTo((FrameKind.FileRefused, 0u)));
        Assert.That(await peer.ClosedAsync(), Does.Contain("file 0, which is not mapped"));
    }

    [Test]
    public async Task NoMemoryFile_IsRefused([Values] bool isPipe)
    {
        using RawPeer peer = await ConnectAsync();
        using SafeFileHandle file = isPipe ? Descriptors.Pipe() : Descriptors.OrdinaryFile(MiB);

        Pass(peer, new FileNotice(0, MiB), file);

        Assert.That((await peer.ReceiveAsync()).Kind, Is.EqualTo(FrameKind.FileRefused));
    }

    [Test]
    public async Task Files_BeyondTheLimit_AreRefused()
    {
        using RawPeer peer = await ConnectAsync();
        using SafeFileHandle file = Descriptors.MemoryFile(Block, Descriptors.AllRequired);

        Pass(peer, new FileNotice(0, 1L << 30), file);

        Assert.That((await peer.ReceiveAsync()).Kind, Is.EqualTo(FrameKind.FileRefused));
    }

    [Test]
    public async Task Wishes_WithoutEnd_CostNobodyElse()
    {
        using RawPeer peer = await ConnectAsync();
        using MappedMemory memory = await PassFileAsync(peer);
        for (int i = 0; i < 20_000; i++)
        {
            Assert.That(
                await peer.SendWhenThereIsSpaceAsync(new RawFrame(FrameKind.ReturnsWanted)));
        }

        await AssertServedAsync(peer, new LoanReference(0, 0, Block));
    }

    private static Violation Reference(string name, LoanReference reference, string complaint, int more = 0) =>
        new($"reference {name}", peer => Refer(peer, reference, call: 0, more), complaint);

    private static Violation Return(string name, string entries, string complaint) =>
        new($"return {name}", peer => peer.Send(FrameKind.Returned, body: Convert.FromHexString(entries)), complaint);

    private static Violation Notice(string name, FileNotice notice, string complaint, int descriptors = 1) => new(
        $"notice {name}",
        peer =>
        {
            using SafeFileHandle file = Descriptors.MemoryFile(MiB, Descriptors.AllRequired);
            Pass(peer, notice, [.. Enumerable.Repeat(file, descriptors)]);
        },
        complaint);

    private static void Pass(RawPeer peer, FileNotice notice, params SafeHandle[] files)
    {
        byte[] bytes = new byte[FileNotice.EncodedBytes];
        notice.Encode(bytes);
        RawDescriptorSender.Send(peer.Socket, bytes, files);
    }

    // Passes a good file as file 0 and waits until the server has mapped it.
    private static async Task<MappedMemory> PassFileAsync(RawPeer peer)
    {
        MappedMemory memory = HostSystem.Current.CreateMemory(MiB, MiB);
        memory.SpanAt(0, MiB).Fill(7);
        Pass(peer, new FileNotice(0, MiB), memory.Handle);
        RawFrame answer = await peer.ReceiveAsync();
        Assert.That((answer.Kind, answer.Argument), Is.EqualTo((FrameKind.FileMapped, 0u)));
        return memory;
    }

    // Takes the server's notice of its file 0 off the socket, on which its last word may follow.
    private static void ReceiveNotice(RawPeer peer)
    {
        byte[] bytes = new byte[FileNotice.EncodedBytes];
        var passed = new List<SafeHandle>();
        Assert.That(new SocketWire(peer.Socket).Receive(bytes, passed), Is.EqualTo(bytes.Length));
        Assert.That(FileNotice.Decode(bytes).Number, Is.Zero);
        passed.Single().Dispose();
    }

    private static void Refer(RawPeer peer, LoanReference reference, uint call = 0, int more = 0)
    {
        var id = new CallId(0, call + 1, isFromAcceptor: false);
        byte[] body = new byte[LoanReference.SizeBytes];
        reference.Encode(body);
        peer.Send(FrameKind.CallStart, id, FrameFlags.None, RawFrames.Head(MethodName));
        peer.Send(
            FrameKind.Message,
            id,
            FrameFlags.HalfClose | FrameFlags.Single | FrameFlags.Loaned,
            body: body,
            argument: (uint)(reference.Length + more));
    }

    private Task<RawPeer> ConnectAsync() =>
        RawPeer.ConnectAsync(Directory.Combine(SocketName), features: Hello.LoansFeature);

    // Each reference is the request of a call, is answered, and comes back once.
    private async Task AssertServedAsync(RawPeer peer, params LoanReference[] references)
    {
        var returned = new List<ReturnedPiece>();
        foreach (LoanReference reference in references)
        {
            Refer(peer, reference, _calls++);
            RawFrame frame;
            while ((frame = await peer.ReceiveAsync()).Kind != FrameKind.End)
            {
                Collect(frame);
            }

            Assert.That(StatusTrailer.Decode(frame.Head).Status.StatusCode, Is.EqualTo(StatusCode.OK));
        }

        peer.Send(FrameKind.ReturnsWanted);
        while (returned.Count < references.Length)
        {
            Collect(await peer.ReceiveAsync());
        }

        Assert.That(returned, Is.EqualTo(references.Select(one => new ReturnedPiece(one.File, one.Block))));

        void Collect(RawFrame frame)
        {
            if (frame.Kind == FrameKind.Returned)
            {
                returned.AddRange(frame.Body.Chunk(ReturnedPiece.SizeBytes).Select(
                    static entry => ReturnedPiece.Decode(entry)));
            }
        }
    }

    // An honest client lends and borrows, and leaves nothing.
    private async Task CallHonestlyAsync()
    {
        await using ShmChannel channel = OpenChannel(static options => options.Loans.AllowLoanedPayloads = true);
        await channel.ConnectAsync().Bounded();
        var method = new Method<ShmPayload, ShmPayload>(
            MethodType.Unary, "test.Loans", "Unary", ShmPayload.Marshaller, ShmPayload.Marshaller);
        using ShmPayload request = channel.RentPayload(MiB);
        request.Memory.Span.Fill(4);
        using ShmPayload response = await channel.CreateCallInvoker()
            .AsyncUnaryCall(method, null, default, request).ResponseAsync.Bounded();
        Assert.That(response.ToArray().AsSpan().IndexOfAnyExcept((byte)4), Is.EqualTo(-1));
    }
}
