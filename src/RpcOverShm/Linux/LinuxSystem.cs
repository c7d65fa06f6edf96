using System.Globalization;
using System.Runtime.InteropServices;
using Microsoft.Extensions.Logging;
using Microsoft.Win32.SafeHandles;
using RpcOverShm.Systems;

namespace RpcOverShm.Linux;

/// <summary>Linux, on x64 and arm64.</summary>
internal sealed unsafe class LinuxSystem : HostSystem
{
    private const string MaxMappingsPath = "/proc/sys/vm/max_map_count";
    private const long DefaultMaxMappings = 65530;

    /// <summary>Whether the numbers of its system calls are known for this processor.</summary>
    public static bool IsProcessorSupported => SystemCallNumbers.AreKnown;

    public override int HandlesOfHello => 1;

    // Without the seal the peer could write to memory that this side reads back, unlike that of a segment.
    public override bool PassesHandlesLater => SegmentMemory.IsSealedForOthers;

    public override long MaxMappings
    {
        get
        {
            try
            {
                return long.TryParse(File.ReadAllText(MaxMappingsPath), CultureInfo.InvariantCulture, out long read)
                    ? read
                    : DefaultMaxMappings;
            }
            catch (Exception exception) when (exception is IOException or UnauthorizedAccessException)
            {
                return DefaultMaxMappings;
            }
        }
    }

    public override long MaxHandles => SocketCalls.MaxDescriptors();

    public override string MaxMappingsName => "vm.max_map_count / 4";

    public override string HandlesName => "descriptors";

    public override string MaxHandlesName => "RLIMIT_NOFILE";

    public override long ThreadTime => LinuxNative.ReadClock(LinuxNative.ClockThreadCpuTime);

    public override int CurrentThreadId => (int)LinuxNative.GetTid(SystemCallNumbers.GetTid);

    public override Account OwnUser => LinuxNative.GetEffectiveUserId();

    public override string AccountsAllowed => "the names or numbers (0 to 4294967294)";

    public override string PathsAllowed => SocketAddress.PathsAllowed;

    public override MappedMemory CreateMemory(long sizeBytes, long firstBytes) =>
        MemoryFile.Create(sizeBytes, firstBytes);

    public override MappedMemory OpenMemory(SafeHandle handle, long sizeBytes, long firstBytes) =>
        MemoryFile.Open((SafeFileHandle)handle, sizeBytes, firstBytes);

    public override Signal CreateSignal() => new FutexSignal(FutexSignal.IsWaitvSupported);

    public override void WaitPrivate(uint* address, uint expected, TimeSpan timeout) =>
        FutexNative.WaitPrivate(address, expected, timeout);

    public override void WakePrivate(uint* address) => FutexNative.WakeAllPrivate(address);

    public override EventPoll? TryCreatePoll(bool isDoor) => EpollPoll.TryCreate();

    public override long TimeOfThread(int threadId) => LinuxNative.ReadClock(LinuxNative.ClockOfThread(threadId));

    // The third field of /proc/PID/stat (proc_pid_stat(5)).
    public override bool IsThreadBlocked(int threadId)
    {
        try
        {
            using SafeFileHandle file = File.OpenHandle($"/proc/self/task/{threadId}/stat");
            Span<byte> text = stackalloc byte[128];
            ReadOnlySpan<byte> read = text[..RandomAccess.Read(file, text, 0)];

            // The second field, the name in brackets, may contain any character.
            ReadOnlySpan<byte> rest = read[(read.LastIndexOf((byte)')') + 1)..];
            return !rest.StartsWith(" R"u8);
        }
        catch (Exception exception) when (exception is IOException or UnauthorizedAccessException)
        {
            return true;
        }
    }

    public override void FenceProcess() => Interlocked.MemoryBarrierProcessWide();

    public override bool IsAllPowerful(Account user) => user.Number == 0;

    public override string AllPowerfulName => "root";

    public override string IdentitySource => "SO_PEERCRED";

    public override Account? FindUser(string name) => SystemAccounts.FindUser(name);

    public override Account? FindGroup(string name) => SystemAccounts.FindGroup(name);

    public override string? NameOf(Account user) => SystemAccounts.NameOfUser(user.Number);

    public override void CheckRuntimeDirectory(string? directory, string option) =>
        SocketAddress.CheckRuntimeDirectory(directory, option);

    public override RendezvousAddress AddressOfName(string text, string name, string? runtimeDirectory) =>
        SocketAddress.OfName(text, name, runtimeDirectory);

    public override RendezvousAddress AddressOfPath(string text, string path) => SocketAddress.OfPath(text, path);

    public override Door Listen(RendezvousAddress address, AccessPolicy access, ILogger logger) =>
        SocketDoor.Open((SocketAddress)address, access, logger);

    public override Task<Wire> ConnectAsync(
        RendezvousAddress address, ILogger logger, CancellationToken cancellationToken) =>
        SocketCaller.ConnectAsync((SocketAddress)address, logger, cancellationToken);
}
