using System.Collections.Concurrent;
using System.Net.Sockets;
using System.Runtime.InteropServices;
using Microsoft.Win32.SafeHandles;
using RpcOverShm.FunctionalTests.Hostile;
using RpcOverShm.Links;
using RpcOverShm.Linux;
using RpcOverShm.Protocol;
using RpcOverShm.Segments;

namespace RpcOverShm.FunctionalTests.TwoProcess;

/// <summary>A server with few descriptors under many connects: it lives, serves, and takes newcomers again.</summary>
[Category("Attack")]
[Long(
    "10,000 connects have to fail first.",
    "ManyConnectionsTests.Server_WhoseDescriptorsRunOut_RefusesTheNext_AndServesTheOthers")]
[OneMode]
[LinuxOnly("It limits descriptors.")]
internal sealed partial class FewDescriptorsTests : PeerFixture
{
    private const int LimitOfDescriptors = 7; // RLIMIT_NOFILE
    private const int Descriptors = 256;
    private const int Connects = 10_000;
    private const int Attackers = 8;
    private const long Ring = 64 << 10;

    private static readonly PeerLimits s_limits = new(Ring, PeerLimits.SmallestCallWindow, 0, 0);

    /// <summary>The numbers of the runs: 1, or up to the value of <c>RPCOVERSHM_REPEAT</c>.</summary>
    public static IEnumerable<TestCaseData> Runs => Repetition.Cases();

    [TestCaseSource(nameof(Runs))]
    [HangBound(600)]
    public async Task Server_WithFewDescriptors_OutlivesManyConnects(int run, int runs)
    {
        PeerProcess server = await StartServingPeerAsync();
        ulong[] limit = [Descriptors, Descriptors];
        Assert.That(SetLimit(server.Id, LimitOfDescriptors, limit, 0), Is.Zero);
        using SafeFileHandle segment = SegmentMemory.Create(
            SegmentLayout.SizeBytes(Ring), SegmentLayout.FirstSizeBytes(Ring));
        SegmentMemory.Seal(segment);

        var meter = new FrontDoorMeter(Address, options => options.Connect.RuntimeDirectory = Directory.Option);
        await meter.AssertHarmlessOnceOverAsync(async () =>
        {
            ConcurrentBag<Socket> held = [];
            int left = Connects;
            await Task.WhenAll(Enumerable.Range(0, Attackers).Select(_ => Timeouts.OnThread(() =>
            {
                while (Interlocked.Decrement(ref left) >= 0)
                {
                    if (TryConnect(segment) is { } socket)
                    {
                        held.Add(socket);
                    }
                }
            })));
            int taken = held.Count;
            foreach (Socket socket in held)
            {
                socket.Dispose();
            }

            Assert.That(server.HasExited, Is.False, server.Errors);
            Assert.That(taken, Is.Positive.And.LessThan(Descriptors));
            TestContext.Out.WriteLine($"{taken} of {Connects} connections were taken.");
        });
        TestContext.Progress.WriteLine($"{run} of {runs}: the server has outlived {Connects} connects.");
    }

    // Returns the socket of a connection; null if the server refused it.
    private Socket? TryConnect(SafeFileHandle segment)
    {
        Socket socket = UnixSockets.New();
        try
        {
            socket.Connect(new UnixDomainSocketEndPoint(Directory.Combine(SocketName)));
            RawDescriptorSender.TrySendMany(
                socket, RawHello.Of(HelloType.Client, s_limits).Encode(), segment, 1);
            using Handshake.ReceivedHello? answer =
                RawHandshake.ReceiveAsync(socket, CancellationToken.None).Bounded().GetAwaiter().GetResult();
            if (answer?.Hello.Type == HelloType.Server)
            {
                return socket;
            }
        }
        catch (Exception exception) when (exception is IOException or SocketException)
        {
            // Refused before the server has read the hello.
        }

        socket.Dispose();
        return null;
    }

    [LibraryImport("libc", EntryPoint = "prlimit", SetLastError = true)]
    private static partial int SetLimit(int process, int resource, ulong[] limit, nint old);
}
