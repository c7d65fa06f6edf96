namespace RpcOverShm.Perf.Peer.Arms;

/// <summary>
/// The product, with default options but for any number of connections, a codec, all user code on the thread pool, a
/// service that the client offers for callbacks, payloads that are lent, or listeners to traces and metrics.
/// </summary>
internal sealed class ShmTransport(RecordFormat? format = null, bool isOnPool = false) : CallsTransport
{
    /// <summary>Whether the client offers a service for callbacks.</summary>
    public bool OffersCallbacks { get; init; }

    /// <summary>Whether both processes lend their payloads.</summary>
    public bool Lends { get; init; }

    /// <summary>Whether both processes listen to the product's traces and metrics.</summary>
    public bool IsWatched { get; init; }

    private readonly ShmSchedulingMode _scheduling =
        isOnPool ? ShmSchedulingMode.ThreadPool : ShmSchedulingMode.Adaptive;

    public override async Task<string> ServeAsync(CallsService service, string place)
    {
        var options = new ShmServerOptions
        {
            MaxReceiveMessageSize = null,
            Listen = { MaxConnections = null, MaxConnectionsPerProcess = int.MaxValue },
            Loans = { AllowLoanedPayloads = Lends },
            Scheduling = _scheduling,
        };
        if (format?.Codec is { } codec)
        {
            options.Codecs.Add(codec);
        }

        if (IsWatched)
        {
            TelemetryListeners.Ensure();
        }

        var server = new ShmServer("shm://" + place, options);
        server.Services.Add(service.Bind());
        await server.StartAsync();
        return server.Address;
    }

    public override ChannelBase OpenChannel(string place)
    {
        var options = new ShmChannelOptions
        {
            MaxReceiveMessageSize = null,
            Codec = format?.Codec,
            Loans = { AllowLoanedPayloads = Lends },
            Scheduling = _scheduling,
        };
        if (OffersCallbacks)
        {
            options.Callbacks.Services.Add(Conformance.BindService(new OfferedService()));
        }

        if (IsWatched)
        {
            TelemetryListeners.Ensure();
        }

        return ShmChannel.ForAddress(place, options);
    }
}
