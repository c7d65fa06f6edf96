namespace RpcOverShm.FunctionalTests.Rigs;

/// <summary>
/// Grpc.Core's server and channel with the C core, over TCP on localhost. They use the same API assembly as this
/// library, so tests share services and clients.
/// </summary>
internal sealed class GrpcCoreRig : CallRig
{
    private const int AnySize = -1;
    private const string ServerName = "localhost";

    private static readonly Lazy<KeyCertificatePair> s_certificate = new(() => TestCertificates.Create(ServerName));

    private readonly Server _server;
    private readonly Channel _channel;
    private Task? _serverEnd;
    private Task? _channelEnd;

    private GrpcCoreRig(Server server, Channel channel)
    {
        _server = server;
        _channel = channel;
    }

    public override ChannelBase Channel => _channel;

    public static Task<GrpcCoreRig> StartAsync(RigOptions options, params ServerServiceDefinition[] services)
    {
        // Without SO_REUSEPORT disabled, servers of one process could share a port and answer for each other.
        var server = new Server(
            [new ChannelOption("grpc.so_reuseport", 0), .. Limits(options.ServerMaxReceive, options.ServerMaxSend)]);
        foreach (ServerServiceDefinition service in services)
        {
            server.Services.Add(service);
        }

        ServerCredentials serverCredentials =
            options.IsSecure ? new SslServerCredentials([s_certificate.Value]) : ServerCredentials.Insecure;
        server.Ports.Add(new ServerPort("127.0.0.1", ServerPort.PickUnused, serverCredentials));
        server.Start();
        var channel = new Channel(
            "127.0.0.1",
            server.Ports.Single().BoundPort,
            ClientCredentials(options),
            [
                .. TargetName(options),
                .. Limits(options.ClientMaxReceive, options.ClientMaxSend),
                .. Retries(options.Retries),
            ]);
        return Task.FromResult(new GrpcCoreRig(server, channel));
    }

    public override Task ShutDownChannelAsync() => _channelEnd ??= _channel.ShutdownAsync();

    public override Task KillServerAsync() =>
        _serverEnd is null ? _serverEnd = _server.KillAsync() : AfterAsync(_serverEnd);

    public override Task ShutDownServerAsync() => _serverEnd = _server.ShutdownAsync();

    // If a test has failed, its calls may never end, and the shutdown would wait for them.
    private async Task AfterAsync(Task end)
    {
        if (!end.IsCompleted)
        {
            await _server.KillAsync().Bounded();
        }
    }

    private static ChannelCredentials ClientCredentials(RigOptions options)
    {
        ChannelCredentials own = options.IsSecure
            ? new SslCredentials(s_certificate.Value.CertificateChain)
            : ChannelCredentials.Insecure;
        return options.ChannelCallCredentials is { } calls ? ChannelCredentials.Create(own, calls) : own;
    }

    // The certificate needs the name; without a certificate the name would appear as the calls' host.
    private static ChannelOption[] TargetName(RigOptions options) =>
        options.IsSecure ? [new ChannelOption(ChannelOptions.SslTargetNameOverride, ServerName)] : [];

    private static ChannelOption[] Retries(RigRetries? retries) => retries is null
        ? []
        : [new ChannelOption("grpc.enable_retries", 1), new ChannelOption("grpc.service_config", retries.ToJson())];

    private static ChannelOption[] Limits(int? receive, int? send) =>
    [
        new ChannelOption(ChannelOptions.MaxReceiveMessageLength, receive ?? AnySize),
        new ChannelOption(ChannelOptions.MaxSendMessageLength, send ?? AnySize),
    ];
}
