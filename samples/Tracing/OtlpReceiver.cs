using System.Net;
using System.Net.Sockets;
using RpcOverShm.Samples.Otlp;

namespace RpcOverShm.Samples;

/// <summary>
/// A small collector on loopback: takes traces as OTLP over HTTP with Protobuf, and accepts and drops everything else.
/// </summary>
internal sealed class OtlpReceiver : IDisposable
{
    private readonly HttpListener _listener = new();
    private readonly List<(string Service, Span Span)> _spans = [];
    private readonly Task _serving;

    public OtlpReceiver()
    {
        Endpoint = $"http://127.0.0.1:{FreePort()}/";
        _listener.Prefixes.Add(Endpoint);
        _listener.Start();
        _serving = ServeAsync();
    }

    public string Endpoint { get; }

    /// <summary>Stops to listen, and returns the spans with the names of their services.</summary>
    public async Task<IReadOnlyList<(string Service, Span Span)>> StopAsync()
    {
        _listener.Stop();
        await _serving;
        return _spans;
    }

    public void Dispose() => _listener.Close();

    private static int FreePort()
    {
        using var probe = new TcpListener(IPAddress.Loopback, 0);
        probe.Start();
        return ((IPEndPoint)probe.LocalEndpoint).Port;
    }

    private async Task ServeAsync()
    {
        while (_listener.IsListening)
        {
            try
            {
                await AnswerAsync(await _listener.GetContextAsync());
            }
            catch (Exception exception) when (exception is HttpListenerException or ObjectDisposedException)
            {
                return; // Stopped.
            }
        }
    }

    private async Task AnswerAsync(HttpListenerContext context)
    {
        using var body = new MemoryStream();
        await context.Request.InputStream.CopyToAsync(body);
        if (context.Request.Url?.AbsolutePath == "/v1/traces")
        {
            Keep(ExportTraceServiceRequest.Parser.ParseFrom(body.ToArray()));
        }

        context.Response.ContentType = "application/x-protobuf";
        context.Response.Close();
    }

    private void Keep(ExportTraceServiceRequest request)
    {
        foreach (ResourceSpans resource in request.ResourceSpans)
        {
            string service = resource.Resource.Attributes.Single(one => one.Key == "service.name").Value.StringValue;
            _spans.AddRange(resource.ScopeSpans.SelectMany(scope => scope.Spans).Select(span => (service, span)));
        }
    }
}
