using System.Globalization;
using System.Net.Sockets;
using System.Runtime.InteropServices;
using Grpc.Core;
using RpcOverShm.Linux;

namespace RpcOverShm.Tool.Doctor;

/// <summary>Looks at the kernel, its limits, and where this process runs; and makes a call to itself.</summary>
/// <param name="root">The directory of the system's files; "/" but in tests.</param>
internal sealed class SystemChecks(string root = "/")
{
    private const string Kernel = "kernel";
    private const string Limits = "limits";
    private const int DescriptorsOfAConnection = 3; // a server keeps one free for each
    private const int ReservedDescriptors = 64;
    private const int ShareOfMappings = 4; // of all, one connection each
    private const int FewConnections = 256;

    private static readonly TimeSpan s_longestCall = TimeSpan.FromSeconds(10);

    private bool _hasProcessDescriptors;
    private bool _refusesDescriptors;

    /// <summary>Returns the findings.</summary>
    public async Task<IReadOnlyList<Finding>> RunAsync()
    {
        if (!OperatingSystem.IsLinux() || !SystemCallNumbers.AreKnown)
        {
            return
            [
                Finding.Problem(
                    "system",
                    $"There is no transport for this system, {RuntimeInformation.RuntimeIdentifier}.",
                    "RpcOverShm works on Linux, on x64 and arm64; elsewhere use gRPC over another transport."),
            ];
        }

        return
        [
            await CallAsync().ConfigureAwait(false),
            .. Features(),
            .. Descriptors(),
            .. Mappings(),
            .. Processors(),
            .. Surroundings(),
        ];
    }

    // A call of this process to itself uses all that a call needs: memory files, seals, sockets, futexes, epoll.
    private async Task<Finding> CallAsync()
    {
        const string Subject = "a call";
        DirectoryInfo? directory = null;
        try
        {
            directory = Directory.CreateTempSubdirectory("rpcshm-");
            await CallAsync(Path.Combine(directory.FullName, "doctor")).ConfigureAwait(false);
            return Finding.Ok(Subject, "A server and a channel of this process have talked.");
        }
        catch (Exception exception) when (exception
            is RpcException or ShmTransportException or IOException or UnauthorizedAccessException or ArgumentException)
        {
            string text = exception is RpcException rpc ? rpc.Status.Detail : exception.Message;
            return Finding.Problem(Subject, text, "Look for this message in docs/troubleshooting.md.");
        }
        finally
        {
            directory?.Delete(recursive: true);
        }
    }

    private async Task CallAsync(string socketPath)
    {
        string address = "shm://" + socketPath;
        Marshaller<byte[]> bytes = Marshallers.Create<byte[]>(bytes => bytes, bytes => bytes);
        var method = new Method<byte[], byte[]>(MethodType.Unary, "rpcshm.Doctor", "Echo", bytes, bytes);
        var server = new ShmServer(address);
        await using (server.ConfigureAwait(false))
        {
            server.Services.Add(ServerServiceDefinition.CreateBuilder()
                .AddMethod(method, (request, _) => Task.FromResult(request)).Build());
            await server.StartAsync().ConfigureAwait(false);
            var channel = ShmChannel.ForAddress(address);
            await using (channel.ConfigureAwait(false))
            {
                DateTime end = (TimeProvider.System.GetUtcNow() + s_longestCall).UtcDateTime;
                using AsyncUnaryCall<byte[]> call = channel.CreateCallInvoker()
                    .AsyncUnaryCall(method, null, new CallOptions(deadline: end), [1, 2, 3]);
                await call.ResponseAsync.ConfigureAwait(false);
            }

            // What the handshake has asked of the kernel.
            _refusesDescriptors = SocketWire.CanRefuseDescriptors;
            using var probe = new Socket(AddressFamily.Unix, SocketType.Stream, ProtocolType.Unspecified);
            await probe.ConnectAsync(new UnixDomainSocketEndPoint(socketPath)).ConfigureAwait(false);
            using var process = ProcessDescriptor.OfPeer(probe, Environment.ProcessId, out _);
            _hasProcessDescriptors = process is not null;
        }
    }

    private IEnumerable<Finding> Features()
    {
        string release = ReadLine("proc/sys/kernel/osrelease") ?? "unknown";
        yield return Finding.Ok(Kernel, $"Linux {release}.");
        (string Name, string Since, bool IsThere, string Without)[] features =
        [
            ("MADV_POPULATE_WRITE", "5.14", SegmentMemory.CanAllocateMapped, "rings take all their memory at once"),
            ("futex_waitv", "5.16", FutexSignal.IsWaitvSupported, "threads that wait for an answer wake more slowly"),
            ("cachestat", "6.5", PeerPages.CanCount, "less is known about a peer's memory before it is read"),
            ("SO_PEERPIDFD", "6.5", _hasProcessDescriptors, "a dead peer whose child keeps its socket is noticed late"),
            ("SO_PASSRIGHTS", "6.16", _refusesDescriptors, "a doorbell takes one more system call"),
        ];
        foreach ((string name, string since, bool isThere, string without) in features)
        {
            yield return isThere
                ? Finding.Ok(Kernel, $"It has {name}.")
                : Finding.Note(
                    Kernel,
                    $"It lacks {name}, or a sandbox refuses it: {without}. All works.",
                    $"Linux {since} or later has it; a seccomp filter must allow it.");
        }
    }

    private static IEnumerable<Finding> Descriptors()
    {
        long most = SocketCalls.MaxDescriptors();
        long connections = Math.Max(0, (most - ReservedDescriptors) / DescriptorsOfAConnection);
        string text = $"RLIMIT_NOFILE is {most} here: enough for about {connections} connections of a server.";
        yield return connections < FewConnections
            ? Finding.Warning(Limits, text, "Raise it: ulimit -n 16384, or LimitNOFILE= of a systemd service.")
            : Finding.Ok(Limits, text);
    }

    private IEnumerable<Finding> Mappings()
    {
        if (!long.TryParse(ReadLine("proc/sys/vm/max_map_count"), CultureInfo.InvariantCulture, out long most))
        {
            yield break;
        }

        string text = $"vm.max_map_count is {most}: enough for {most / ShareOfMappings} connections of a server.";
        yield return most / ShareOfMappings < FewConnections
            ? Finding.Warning(Limits, text, "Raise it: sysctl vm.max_map_count=65530")
            : Finding.Ok(Limits, text);
    }

    private static IEnumerable<Finding> Processors()
    {
        if (Environment.ProcessorCount == 1)
        {
            yield return Finding.Note(
                "processors",
                "This process may use one processor: each call needs thread switches, so it takes longer.",
                "Give a container or service two processors or more.");
        }
    }

    private IEnumerable<Finding> Surroundings()
    {
        if (ReadLine("proc/sys/kernel/osrelease")?.Contains("microsoft", StringComparison.OrdinalIgnoreCase) == true)
        {
            yield return Finding.Note(
                "WSL",
                "This is the Windows Subsystem for Linux: both processes must run in this distribution.",
                "A Windows program needs another transport.");
        }

        if (File.Exists(Path.Combine(root, ".dockerenv")) || File.Exists(Path.Combine(root, "run/.containerenv")))
        {
            yield return Finding.Note(
                "container",
                "This is a container: it reaches servers of others through a shared runtime directory only.",
                "Mount one volume in both, name it as RuntimeDirectory on both sides, and use the same user id.");
        }

        string[] map = ReadLine("proc/self/uid_map")?.Split(' ', StringSplitOptions.RemoveEmptyEntries) ?? [];
        if (map.Length == 3 && map is not ["0", "0", _])
        {
            yield return Finding.Note(
                "users",
                $"User {map[0]} of this user namespace is user {map[1]} outside: peers outside of it look like nobody, "
                + "and are refused.",
                "Run both processes in one user namespace.");
        }
    }

    private string? ReadLine(string file)
    {
        try
        {
            return File.ReadLines(Path.Combine(root, file)).FirstOrDefault();
        }
        catch (Exception exception) when (exception is IOException or UnauthorizedAccessException)
        {
            return null;
        }
    }
}
