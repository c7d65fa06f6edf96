using Grpc.Core.Interceptors;
using RpcOverShm.Connections;
using RpcOverShm.Servers;

namespace RpcOverShm.FunctionalTests.Rigs;

/// <summary>This library's server and channel, in their own directory, which must be empty after disposal.</summary>
internal sealed class ShmRig : CallRig
{
    private readonly List<ShmServer> _servers = [];
    private readonly List<ShmChannel> _channels = [];
    private readonly TestDirectory _directory = new();
    private readonly RigOptions _options;

    private ShmRig(RigOptions options) => _options = options;

    public string Address => _directory.AddressOf("rig");

    public override ChannelBase Channel => ShmChannel;

    /// <summary>The channel that was opened first.</summary>
    public ShmChannel ShmChannel => _channels[0];

    /// <summary>The server that was started last.</summary>
    public ShmServer Server => _servers[^1];

    public string Directory => _directory.Path;

    public string? RuntimeDirectory => _directory.Option;

    /// <summary>The pipe, or the path of the socket, that the address stands for.</summary>
    public string Place => _directory.PlaceOf("rig");

    /// <summary>The names in the directory; on Windows that of the pipe at which a server listens.</summary>
    public string[] FileNames => _directory.FileNamesAt(Place);

    /// <summary>The connections of the server.</summary>
    public IReadOnlyList<ServerConnection> Served => Server.Running!.Connections;

    /// <summary>The server's only connection, in tests with one channel.</summary>
    public Connection OnlyConnection => Served.Single().Connection;

    public static async Task<ShmRig> StartAsync(RigOptions? options, params ServerServiceDefinition[] services)
    {
        var rig = new ShmRig(options ?? new RigOptions());
        try
        {
            await rig.StartServerAsync(services);
            rig.OpenChannel();
            return rig;
        }
        catch
        {
            await rig.DisposeAsync();
            throw;
        }
    }

    /// <summary>Starts a server at the address; the previous one must have ended.</summary>
    public async Task<ShmServer> StartServerAsync(params ServerServiceDefinition[] services)
    {
        ShmServer server = MakeServer(services);
        await server.StartAsync();
        return server;
    }

    /// <summary>Creates a server with the rig's options without starting it.</summary>
    public ShmServer MakeServer(params ServerServiceDefinition[] services)
    {
        var options = new ShmServerOptions
        {
            Listen = { RuntimeDirectory = RuntimeDirectory },
            LoggerFactory = Log,
            MaxReceiveMessageSize = _options.ServerMaxReceive,
            MaxSendMessageSize = _options.ServerMaxSend,
            Limits = { MaxMetadataSize = _options.ServerMaxMetadata },
            Ring = { Capacity = _options.RingCapacity },
            EnableDetailedErrors = _options.HasDetailedErrors,
            Scheduling = _options.Scheduling,
            ResponseCompressionAlgorithm = _options.ResponseCompression,
        };
        foreach (Interceptor interceptor in _options.OptionInterceptors)
        {
            options.Interceptors.Add(interceptor);
        }

        foreach (ShmCodec codec in _options.ServerCodecs)
        {
            options.Codecs.Add(codec);
        }

        _options.Server?.Invoke(options);
        var server = new ShmServer(Address, options);
        foreach (ServerServiceDefinition service in services)
        {
            server.Services.Add(service);
        }

        _options.Services?.Invoke(server.Services);
        _servers.Add(server);
        return server;
    }

    /// <summary>Opens another channel to the address.</summary>
    public ShmChannel OpenChannel(Action<ShmChannelOptions>? change = null)
    {
        var options = new ShmChannelOptions
        {
            Connect = { RuntimeDirectory = RuntimeDirectory },
            LoggerFactory = Log,
            MaxReceiveMessageSize = _options.ClientMaxReceive,
            MaxSendMessageSize = _options.ClientMaxSend,
            MaxMetadataSize = _options.ClientMaxMetadata,
            Ring = { Capacity = _options.RingCapacity },
            Codec = _options.ClientCodec,
            Credentials = _options.ChannelCallCredentials is { } credentials
                ? ChannelCredentials.Create(ChannelCredentials.SecureSsl, credentials)
                : null,
            ServiceConfig = _options.Retries?.ToServiceConfig(),
            MaxRetryBufferPerCallSize = _options.MaxRetryBufferPerCall,
            ThrowOperationCanceledOnCancellation = _options.ThrowsOperationCanceled,
            Scheduling = _options.Scheduling,
        };
        change?.Invoke(options);
        var channel = ShmChannel.ForAddress(Address, options);
        _channels.Add(channel);
        return channel;
    }

    public override async Task ShutDownChannelAsync()
    {
        foreach (ShmChannel channel in _channels)
        {
            await channel.ShutdownAsync();
        }
    }

    public override Task KillServerAsync() => Task.WhenAll(_servers.Select(server => server.StopAsync(TimeSpan.Zero)));

    public override Task ShutDownServerAsync() => Server.StopAsync();

    public override async ValueTask DisposeAsync()
    {
        await base.DisposeAsync();
        string[] left = FileNames;
        _directory.Dispose();
        if (left.Length > 0)
        {
            throw new InvalidOperationException($"The server left files behind: {string.Join(", ", left)}");
        }
    }
}
