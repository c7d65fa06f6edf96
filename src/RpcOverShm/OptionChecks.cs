using System.IO.Compression;
using System.Runtime.CompilerServices;
using Grpc.Core.Interceptors;
using Microsoft.Extensions.Logging;
using Microsoft.Extensions.Logging.Abstractions;
using RpcOverShm.Calls;
using RpcOverShm.Clients;
using RpcOverShm.Diagnostics;
using RpcOverShm.Links;
using RpcOverShm.Protocol;
using RpcOverShm.Scheduling;
using RpcOverShm.Segments;
using RpcOverShm.Servers;

namespace RpcOverShm;

/// <summary>
/// Validates the public options and turns them into the internal settings; error messages name the allowed values.
/// </summary>
internal static class OptionChecks
{
    // Half of the default ring. Half of the credit is on its way back while the other half is used, so a single call
    // streams at full speed. A call that nobody reads keeps at most half a MiB of memory. Measured: with half of this
    // window, a message of 1 MiB takes a tenth longer; with twice the window, nothing is faster.
    public const uint CallWindow = 512 << 10;

    private const int LongestCodecName = 64;

    private static readonly TimeSpan s_longestBackoff = TimeSpan.FromDays(1);

    public static int? MessageSize(int? bytes, [CallerArgumentExpression(nameof(bytes))] string name = "")
    {
        if (bytes < 0)
        {
            throw new ArgumentOutOfRangeException(
                Short(name), bytes, "A message size is 0 or more bytes, or null for any size.");
        }

        return bytes;
    }

    public static ConnectionSettings Connection(
        ConnectionPurpose purpose,
        int ringCapacity,
        int maxMetadataSize,
        TimeSpan timeout,
        ServerLimits? served,
        ILogger logger,
        [CallerArgumentExpression(nameof(timeout))] string timeoutName = "")
    {
        if (!SegmentLayout.IsValidRingCapacity(ringCapacity))
        {
            throw new ArgumentOutOfRangeException(
                nameof(ringCapacity),
                ringCapacity,
                $"{nameof(ShmServerOptions.RingCapacity)} is a power of two "
                + "from 64 KiB (65536) to 1 GiB (1073741824).");
        }

        if (maxMetadataSize is < 0 or > (int)PeerLimits.LargestMetadata)
        {
            throw new ArgumentOutOfRangeException(
                nameof(maxMetadataSize),
                maxMetadataSize,
                $"{nameof(ShmServerOptions.MaxMetadataSize)} is 0 to {PeerLimits.LargestMetadata} bytes.");
        }

        if (timeout <= TimeSpan.Zero || timeout.TotalMilliseconds > int.MaxValue)
        {
            throw new ArgumentOutOfRangeException(
                Short(timeoutName), timeout, $"{Short(timeoutName)} is above zero and below 24 days.");
        }

        return new ConnectionSettings
        {
            Purpose = purpose,
            Limits = new PeerLimits(
                ringCapacity,
                CallWindow,
                MaxCalls: served is null ? 0 : LimitChecks.CallsAtATime(served),
                (uint)maxMetadataSize)
            {
                MaxRunning = (uint)(served?.PerConnection ?? 0),
            },
            ConnectTimeout = timeout,
            TimeoutOption = Short(timeoutName),
            Logger = logger,
        };
    }

    /// <summary>Checks the maximum number of streams that wait to be accepted.</summary>
    public static int Waiting(int maxWaitingStreams)
    {
        CheckCount(maxWaitingStreams, nameof(ShmStreamOptions.MaxWaitingStreams), "");
        return maxWaitingStreams;
    }

    /// <summary>Checks the limits of a listener. The options of servers and of streams have the same names.</summary>
    public static DoorLimits Door(
        int maxPendingHandshakes, int? maxConnections, int? maxConnectionsPerUser, int? maxConnectionsPerProcess)
    {
        CheckCount(maxPendingHandshakes, nameof(ShmServerOptions.MaxPendingHandshakes), "");
        CheckCount(maxConnections, nameof(ShmServerOptions.MaxConnections), ", or null for what the system allows");
        CheckCount(
            maxConnectionsPerProcess,
            nameof(ShmServerOptions.MaxConnectionsPerProcess),
            ", or null for no limit of its own");
        CheckCount(
            maxConnectionsPerUser,
            nameof(ShmServerOptions.MaxConnectionsPerUser),
            $", or null for half of {nameof(ShmServerOptions.MaxConnections)}");
        CheckShare(maxConnectionsPerProcess, nameof(ShmServerOptions.MaxConnectionsPerProcess), maxConnections);
        CheckShare(maxConnectionsPerUser, nameof(ShmServerOptions.MaxConnectionsPerUser), maxConnections);
        return new DoorLimits(
            maxPendingHandshakes, maxConnections, maxConnectionsPerProcess, maxConnectionsPerUser);
    }

    public static ReconnectBackoff Backoff(
        TimeSpan initial,
        TimeSpan longest,
        [CallerArgumentExpression(nameof(initial))] string initialName = "",
        [CallerArgumentExpression(nameof(longest))] string longestName = "")
    {
        if (initial <= TimeSpan.Zero || initial > s_longestBackoff)
        {
            throw new ArgumentOutOfRangeException(
                Short(initialName), initial, $"{Short(initialName)} is above zero and at most a day.");
        }

        return longest >= initial && longest <= s_longestBackoff
            ? new ReconnectBackoff(initial, longest)
            : throw new ArgumentOutOfRangeException(
                Short(longestName),
                longest,
                $"{Short(longestName)} is at least {Short(initialName)}, and at most a day.");
    }

    public static SchedulingMode Scheduling(ShmSchedulingMode scheduling) => scheduling switch
    {
        ShmSchedulingMode.Adaptive => SchedulingMode.Adaptive,
        ShmSchedulingMode.Inline => SchedulingMode.Inline,
        ShmSchedulingMode.ThreadPool => SchedulingMode.ThreadPool,
        _ => throw new ArgumentOutOfRangeException(
            nameof(scheduling), scheduling, "Scheduling is Adaptive, Inline or ThreadPool."),
    };

    public static ILogger Logger<T>(ILoggerFactory? factory) =>
        factory is null ? NullLogger.Instance : new GuardedLogger(factory.CreateLogger(typeof(T).FullName!));

    public static ConnectionSettings Stream<T>(ShmStreamOptions options, AccessPolicy access)
    {
        ConnectionSettings settings = Connection(
            ConnectionPurpose.ByteStream,
            options.RingCapacity,
            0,
            options.ConnectTimeout,
            served: null,
            Logger<T>(options.LoggerFactory));
        return settings with
        {
            Door = Door(
                options.MaxPendingHandshakes,
                options.MaxConnections,
                options.MaxConnectionsPerUser,
                options.MaxConnectionsPerProcess),
            Access = access,
            MaxPeerRingCapacity = PeerRing(options.MaxPeerRingCapacity),
        };
    }

    /// <summary>Returns the limit of the peer's ring.</summary>
    public static int PeerRing(int maxPeerRing) => SegmentLayout.IsValidRingCapacity(maxPeerRing)
        ? maxPeerRing
        : throw new ArgumentOutOfRangeException(
            nameof(maxPeerRing),
            maxPeerRing,
            $"{nameof(ShmServerOptions.MaxPeerRingCapacity)} is a power of two "
            + "from 64 KiB (65536) to 1 GiB (1073741824).");

    /// <summary>Returns the clients that a server or listener takes at an address.</summary>
    /// <param name="users">The option AllowedUsers.</param>
    /// <param name="group">The option AllowedGroup.</param>
    /// <param name="runtimeDirectory">The option RuntimeDirectory.</param>
    /// <param name="address">The address; the user's own runtime directory cannot be shared.</param>
    public static AccessPolicy Clients(
        IEnumerable<string> users, string? group, string? runtimeDirectory, RendezvousAddress address)
    {
        IReadOnlyList<uint> userIds = Users(users, nameof(ShmServerOptions.AllowedUsers));
        uint? groupId = group is null
            ? null
            : Account(group, "group", nameof(ShmServerOptions.AllowedGroup), SystemAccounts.FindGroup);
        var policy = new AccessPolicy(userIds, groupId);
        return policy.IsShared && address.IsInRuntimeDirectory && runtimeDirectory is null
            ? throw new ArgumentException(
                $"{nameof(ShmServerOptions.AllowedUsers)} and {nameof(ShmServerOptions.AllowedGroup)} need "
                + $"{nameof(ShmServerOptions.RuntimeDirectory)}, or an address 'shm:///path': '{address}' stands for "
                + "a socket in the server user's own directory, which no other user can reach.")
            : policy;
    }

    /// <summary>Returns the servers that a client trusts.</summary>
    /// <param name="users">The option TrustedServerUsers.</param>
    public static AccessPolicy Servers(IEnumerable<string> users) =>
        new(Users(users, nameof(ShmChannelOptions.TrustedServerUsers)), Group: null);

    public static IReadOnlyList<MarshallerProvider> Codecs(IEnumerable<ShmCodec> codecs)
    {
        var sources = new List<MarshallerProvider>();
        foreach (ShmCodec? codec in codecs)
        {
            MarshallerProvider source = Codec(codec) ?? throw new ArgumentException("A codec is null.", nameof(codecs));
            if (sources.Exists(other => other.Name == source.Name))
            {
                throw new ArgumentException($"Two codecs have the name '{source.Name}'.", nameof(codecs));
            }

            sources.Add(source);
        }

        return sources;
    }

    public static MarshallerProvider? Codec(ShmCodec? codec)
    {
        if (codec is null)
        {
            return null;
        }

        string name = codec.Name;
        bool isLegal = name is { Length: > 0 and <= LongestCodecName }
            && name != MarshallerProvider.Generated
            && name.All(c => char.IsAsciiLetterOrDigit(c) || c is '.' or '-' or '_');
        return isLegal
            ? new CodecMarshallers(codec, name)
            : throw new ArgumentException(
                $"'{name}' is not a codec's name: "
                + $"1 to {LongestCodecName} letters, digits, '.', '-' or '_', and not 'proto'.");
    }

    public static CompressionLevel Level(
        CompressionLevel? level, [CallerArgumentExpression(nameof(level))] string name = "") =>
        level is { } given && !Enum.IsDefined(given)
            ? throw new ArgumentOutOfRangeException(
                Short(name), level, $"One of {string.Join(", ", Enum.GetNames<CompressionLevel>())}, or null.")
            : level ?? CompressionLevel.Fastest;

    /// <summary>Returns the name of the message encoding; null for no compression.</summary>
    public static string? Encoding(string? name, [CallerArgumentExpression(nameof(name))] string optionName = "") =>
        name switch
        {
            null or MessageEncoding.Identity => null,
            MessageEncoding.Gzip => name,
            _ => throw new ArgumentException(
                $"{Short(optionName)} is one of {MessageEncoding.Supported}, or null; not '{name}'."),
        };

    public static Interceptor[] Interceptors(IEnumerable<Interceptor> interceptors) =>
        [.. interceptors.Select(one => one ?? throw new ArgumentException("An interceptor is null."))];

    private static void CheckCount(int? count, string name, string alternative)
    {
        if (count < 1)
        {
            throw new ArgumentOutOfRangeException(name, count, $"{name} is 1 or more{alternative}.");
        }
    }

    private static void CheckShare(int? share, string name, int? maxConnections)
    {
        if (share > maxConnections)
        {
            throw new ArgumentOutOfRangeException(
                name,
                share,
                $"{name} is at most {nameof(ShmServerOptions.MaxConnections)}, which is {maxConnections}.");
        }
    }

    private static uint[] Users(IEnumerable<string> users, string option) =>
        [.. users.Select(user => Account(user, "user", option, SystemAccounts.FindUser)).Distinct()];

    private static uint Account(string? name, string kind, string option, Func<string, uint?> find)
    {
        string need = $"{option} takes the names or numbers (0 to 4294967294) of {kind}s of this system";
        if (string.IsNullOrEmpty(name))
        {
            throw new ArgumentException($"{need}; {(name is null ? "null" : "an empty text")} is neither.");
        }

        // Without a transport nobody is let in: the start of a server, or a connect, throws.
        if (!OperatingSystem.IsLinux())
        {
            return 0;
        }

        try
        {
            return find(name) ?? throw new ArgumentException($"{need}; there is no {kind} '{name}'.");
        }
        catch (IOException exception)
        {
            throw new ArgumentException($"{need}; '{name}' cannot be looked up: {exception.Message}", exception);
        }
    }

    // The user knows the argument "options.RingCapacity" as "RingCapacity".
    private static string Short(string expression) => expression[(expression.LastIndexOf('.') + 1)..];
}
