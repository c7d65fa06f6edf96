using System.Net.Sockets;
using System.Runtime.InteropServices;
using Microsoft.Win32.SafeHandles;
using RpcOverShm.FunctionalTests.TwoProcess;
using RpcOverShm.Linux;
using RpcOverShm.Protocol;

namespace RpcOverShm.FunctionalTests.Hostile;

/// <summary>
/// Hellos with a file of a file system (FUSE) that answers nothing: neither questions about the file nor its close,
/// which cannot be interrupted.
/// </summary>
[Category("Attack")]
[Category("Fuse")]
[Long("The attack measures newcomers for seconds, up to three times.", "ForeignHandlesTests")]
[OneMode]
[LinuxOnly("It mounts a file system.")]
internal sealed partial class SlowFileTests : PeerFixture
{
    private const string Device = "/dev/fuse";
    private const int Detach = 2; // MNT_DETACH

    private static readonly PeerLimits s_limits = new(64 << 10, PeerLimits.SmallestCallWindow, 0, 0);

    private string MountPoint => Directory.Combine("fuse");

    [SetUp]
    public void RequireFuse()
    {
        if (!File.Exists(Device) || !Environment.IsPrivilegedProcess)
        {
            Assert.Ignore($"A file system on FUSE needs root and {Device}.");
        }
    }

    [Test]
    public async Task HelloWhoseFileIsNeverClosed_HoldsNobodyUp()
    {
        await ServeAsync(new Script());
        System.IO.Directory.CreateDirectory(MountPoint);
        var meter = new FrontDoorMeter(Address, options => options.Connect.RuntimeDirectory = Directory.Option);
        var sockets = new List<Socket>();

        await meter.AssertHarmlessAsync(async (stands, over) =>
        {
            PeerProcess fileSystem = await StartPeerAsync();
            try
            {
                // The number only, because an object that is collected would close the file.
                int file = await OpenAsync(fileSystem);
                using var borrowed = new SafeFileHandle(file, ownsHandle: false);
                await HangingCloses.MakeAsync(() =>
                {
                    sockets.Add(SendHello(borrowed));
                    return Task.CompletedTask;
                });
                stands();
                await over;
                await HangingCloses.AssertAsync();
                await fileSystem.DisposeAsync();
                Assert.That(LinuxNative.Close(file), Is.Not.Zero, "FLUSH fails, as the file system is gone");
            }
            finally
            {
                // Its end lets all closes go on.
                await fileSystem.DisposeAsync();
                _ = Unmount(MountPoint, Detach); // only there if it failed before
            }

            await HangingCloses.NoneAsync();
        });

        sockets.ForEach(socket => socket.Dispose());
    }

    [LibraryImport("libc", EntryPoint = "umount2", SetLastError = true, StringMarshalling = StringMarshalling.Utf8)]
    private static partial int Unmount(string target, int flags);

    private async Task<int> OpenAsync(PeerProcess fileSystem)
    {
        string reply = await fileSystem.AskAsync($"fuse {MountPoint}");
        if (reply.Contains("Operation not permitted", StringComparison.Ordinal))
        {
            Assert.Ignore($"A file system on FUSE needs the right to mount: {reply}");
        }

        Assert.That(reply, Is.EqualTo("ok"));
        int file = LinuxNative.Open(Path.Combine(MountPoint, "file"), 0x80000, 0); // O_CLOEXEC
        Assert.That(file, Is.GreaterThanOrEqualTo(0), Marshal.GetLastPInvokeErrorMessage());
        await fileSystem.DoAsync("fuse-mute");
        return file;
    }

    private Socket SendHello(SafeFileHandle file)
    {
        Socket socket = UnixSockets.Connect(Directory.Combine(SocketName));
        byte[] hello = RawHello.Of(HelloType.Client, s_limits).Encode();
        RawDescriptorSender.SendMany(socket, hello, file, 1);
        return socket;
    }
}
