using System.Net;
using System.Net.Sockets;
using System.Security.Cryptography.X509Certificates;
using Grpc.Net.Client;
using Microsoft.AspNetCore.Builder;
using Microsoft.AspNetCore.Hosting;
using Microsoft.AspNetCore.Server.Kestrel.Core;
using Microsoft.Extensions.DependencyInjection;
using Microsoft.Extensions.Logging;

namespace RpcOverShm.FunctionalTests.Rigs;

/// <summary>
/// Grpc.AspNetCore on Kestrel and Grpc.Net.Client: HTTP/2 over a Unix socket, or over the loopback on Windows.
/// </summary>
internal sealed class GrpcDotNetRig : CallRig
{
    private const string ServerName = "localhost";

    private static readonly Lazy<X509Certificate2> s_certificate = new(MakeCertificate);

    private readonly TestDirectory _directory = new();
    private readonly CancellationTokenSource _kill = new();
    private readonly List<GrpcChannel> _channels = [];
    private readonly RigOptions _options;
    private readonly WebApplication _server;
    private Task? _serverEnd;

    private GrpcDotNetRig(RigOptions options, ServerServiceDefinition[] services)
    {
        _options = options;
        _server = MakeServer(services);
    }

    /// <summary>The channel that was opened first.</summary>
    public override ChannelBase Channel => _channels[0];

    public string SocketPath => _directory.Combine("rig.sock");

    public static async Task<GrpcDotNetRig> StartAsync(RigOptions? options, params ServerServiceDefinition[] services)
    {
        var rig = new GrpcDotNetRig(options ?? new RigOptions(), services);
        rig.OpenChannel(rig.SocketPath);
        await rig._server.StartAsync();
        return rig;
    }

    /// <summary>Opens another channel, to the server's socket or to a relay's.</summary>
    public GrpcChannel OpenChannel(string path)
    {
        ChannelCredentials own = _options.IsSecure ? ChannelCredentials.SecureSsl : ChannelCredentials.Insecure;
        var channel = GrpcChannel.ForAddress(
            $"{(_options.IsSecure ? "https" : "http")}://{ServerName}",
            new GrpcChannelOptions
            {
                HttpHandler = new DatelessHandler(MakeHandler(path)),
                DisposeHttpClient = true,
                MaxReceiveMessageSize = _options.ClientMaxReceive,
                MaxSendMessageSize = _options.ClientMaxSend,
                Credentials =
                    _options.ChannelCallCredentials is { } calls ? ChannelCredentials.Create(own, calls) : own,
                ServiceConfig = _options.Retries?.ToGrpcDotNet(),
                MaxRetryBufferPerCallSize = _options.MaxRetryBufferPerCall,
                ThrowOperationCanceledOnCancellation = _options.ThrowsOperationCanceled,
            });
        _channels.Add(channel);
        return channel;
    }

    public override Task ShutDownChannelAsync()
    {
        _channels.ForEach(channel => channel.Dispose());
        return Task.CompletedTask;
    }

    public override async Task KillServerAsync()
    {
        await _kill.CancelAsync();
        try
        {
            await ShutDownServerAsync();
        }
        catch (OperationCanceledException)
        {
            // The host reports that it did not wait for its calls to end.
        }
    }

    public override Task ShutDownServerAsync() => _serverEnd ??= _server.StopAsync(_kill.Token);

    public override async ValueTask DisposeAsync()
    {
        try
        {
            await base.DisposeAsync();
        }
        finally
        {
            await _server.DisposeAsync();
            _kill.Dispose();
            _directory.Dispose();
        }
    }

    private WebApplication MakeServer(ServerServiceDefinition[] services)
    {
        WebApplicationBuilder builder = WebApplication.CreateEmptyBuilder(new WebApplicationOptions());
        builder.Logging.AddProvider(new GrpcDotNetLog(Log));
        builder.WebHost.UseKestrelCore().UseKestrelHttpsConfiguration().ConfigureKestrel(kestrel =>
        {
            // HTTP limits that no other rig has. Kestrel counts metadata in bytes, without an overhead per entry.
            kestrel.Limits.MaxRequestBodySize = null;
            kestrel.Limits.Http2.MaxStreamsPerConnection = int.MaxValue;
            kestrel.AddServerHeader = false;
            kestrel.Limits.MaxRequestHeadersTotalSize = _options.ServerMaxMetadata;
            kestrel.Limits.Http2.MaxRequestHeaderFieldSize = _options.ServerMaxMetadata;
            kestrel.Limits.MaxRequestHeaderCount = _options.ServerMaxMetadata;
            if (OperatingSystem.IsWindows())
            {
                kestrel.Listen(IPAddress.Loopback, port: 0, Listen); // Wine has no Unix sockets.
            }
            else
            {
                kestrel.ListenUnixSocket(SocketPath, Listen);
            }
        });
        builder.Services.AddGrpc(grpc =>
        {
            grpc.MaxReceiveMessageSize = _options.ServerMaxReceive;
            grpc.MaxSendMessageSize = _options.ServerMaxSend;
            grpc.EnableDetailedErrors = _options.HasDetailedErrors;
            grpc.ResponseCompressionAlgorithm = _options.ResponseCompression;
        });
        WebApplication server = builder.Build();
        foreach (ServerServiceDefinition service in services)
        {
            server.MapGrpcService(service);
        }

        return server;
    }

    private void Listen(ListenOptions socket)
    {
        socket.Protocols = HttpProtocols.Http2;
        if (_options.IsSecure)
        {
            socket.UseHttps(s_certificate.Value);
        }
    }

    private SocketsHttpHandler MakeHandler(string path)
    {
        var handler = new SocketsHttpHandler
        {
            MaxResponseHeadersLength = _options.ClientMaxMetadata >> 10,
            ConnectCallback = async (_, cancellation) =>
                await ConnectAsync(PlaceOf(path), cancellation).ConfigureAwait(false),
        };
        if (_options.IsSecure)
        {
            handler.SslOptions.RemoteCertificateValidationCallback =
                (_, certificate, _, _) => certificate?.Equals(s_certificate.Value) == true;
        }

        return handler;
    }

    private EndPoint PlaceOf(string path) => OperatingSystem.IsWindows()
        ? new IPEndPoint(IPAddress.Loopback, new Uri(_server.Urls.Single()).Port)
        : new UnixDomainSocketEndPoint(path);

    private static async Task<NetworkStream> ConnectAsync(EndPoint place, CancellationToken cancellation)
    {
        Socket socket = place is IPEndPoint ? new Socket(SocketType.Stream, ProtocolType.Tcp) : UnixSockets.New();
        try
        {
            await socket.ConnectAsync(place, cancellation).ConfigureAwait(false);
            return new NetworkStream(socket, ownsSocket: true);
        }
        catch
        {
            socket.Dispose();
            throw;
        }
    }

    private static X509Certificate2 MakeCertificate()
    {
        KeyCertificatePair pair = TestCertificates.Create(ServerName);
        return X509Certificate2.CreateFromPem(pair.CertificateChain, pair.PrivateKey);
    }

    /// <summary>Removes Kestrel's date header, which is a trailer in responses without messages.</summary>
    private sealed class DatelessHandler(HttpMessageHandler inner) : DelegatingHandler(inner)
    {
        protected override async Task<HttpResponseMessage> SendAsync(
            HttpRequestMessage request, CancellationToken cancellationToken)
        {
            HttpResponseMessage response = await base.SendAsync(request, cancellationToken).ConfigureAwait(false);
            response.Headers.Date = null;
            return response;
        }
    }
}
