using System.Net.Sockets;
using System.Runtime.InteropServices;
using Microsoft.Win32.SafeHandles;
using RpcOverShm.FunctionalTests.Hostile;
using RpcOverShm.Links;
using RpcOverShm.Protocol;
using RpcOverShm.Segments;

namespace RpcOverShm.FunctionalTests.TwoProcess;

/// <summary>A server with few descriptors under many connects: it lives, serves, and takes newcomers again.</summary>
[Category("Attack")]
internal sealed partial class FewDescriptorsTests : PeerFixture
{
    private const int LimitOfDescriptors = 7; // RLIMIT_NOFILE
    private const int Descriptors = 256;
    private const int Connects = 10_000;
    private const int Attackers = 8;
    private const long Ring = 64 << 10;

    private static readonly PeerLimits s_limits = new(Ring, PeerLimits.SmallestCallWindow, 0, 0);

    [Test]
    [HangBound(600)]
    public async Task Server_WithFewDescriptors_OutlivesManyConnects()
    {
        PeerProcess server = await StartServingPeerAsync();
        ScriptClient innocent = OpenClient();
        await innocent.UnaryAsync(Payloads.Of("before")).ResponseAsync.Bounded();
        ulong[] limit = [Descriptors, Descriptors];
        Assert.That(SetLimit(server.Id, LimitOfDescriptors, limit, 0), Is.Zero);
        using SafeFileHandle segment = SegmentMemory.Create(SegmentLayout.SizeBytes(Ring));
        SegmentMemory.Seal(segment);
        var held = new List<Socket>();

        int calls = 0;
        int left = Connects;
        Task[] attackers =
        [
            .. Enumerable.Range(0, Attackers).Select(_ => Timeouts.OnThread(() =>
            {
                while (Interlocked.Decrement(ref left) >= 0)
                {
                    if (TryConnect(segment) is { } socket)
                    {
                        lock (held)
                        {
                            held.Add(socket);
                        }
                    }
                }
            })),
        ];
        Task attack = Task.WhenAll(attackers);
        while (!attack.IsCompleted)
        {
            await innocent.UnaryAsync(Payloads.Of("meanwhile")).ResponseAsync.Bounded();
            calls++;
        }

        await attack;
        Assert.That(server.HasExited, Is.False, server.Errors);
        Assert.That(held, Is.Not.Empty.And.Count.LessThan(Descriptors));
        TestContext.Out.WriteLine($"{held.Count} connections were taken; {calls} calls were answered meanwhile.");

        held.ForEach(socket => socket.Dispose());
        ScriptClient newcomer = OpenClient();
        await newcomer.UnaryAsync(Payloads.Of("new"), new CallOptions().WithWaitForReady()).ResponseAsync.Bounded();
        await innocent.UnaryAsync(Payloads.Of("after")).ResponseAsync.Bounded();
    }

    // Returns the socket of a connection; null if the server refused it.
    private Socket? TryConnect(SafeFileHandle segment)
    {
        var socket = new Socket(AddressFamily.Unix, SocketType.Stream, ProtocolType.Unspecified);
        try
        {
            socket.Connect(new UnixDomainSocketEndPoint(Directory.Combine(SocketName)));
            ManyDescriptors.TrySend(
                socket, RawPeer.MakeHello(HelloType.Client, Guid.NewGuid(), s_limits).Encode(), segment, 1);
            using Handshake.ReceivedHello? answer =
                Handshake.ReceiveAsync(socket, CancellationToken.None).Bounded().GetAwaiter().GetResult();
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
