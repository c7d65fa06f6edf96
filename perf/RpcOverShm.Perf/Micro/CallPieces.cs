using BenchmarkDotNet.Attributes;
using Google.Protobuf;
using RpcOverShm.Testing.Protos;

namespace RpcOverShm.Perf.Micro;

/// <summary>
/// Whole calls with client and server in this process, in two threads. Allocations are those of both sides together.
/// </summary>
public class CallPieces
{
    private readonly Payload _request = new() { Data = UnsafeByteOperations.UnsafeWrap(new byte[100]) };
    private ShmServer _server = null!;
    private ShmChannel _channel = null!;
    private Conformance.ConformanceClient _client = null!;

    [GlobalSetup]
    public void SetUp()
    {
        string address = "shm://" + Path.Combine(Path.GetTempPath(), $"rpcovershm-micro-{Environment.ProcessId}");
        _server = new ShmServer(address);
        _server.Services.Add(Conformance.BindService(new CheckedService()));
        _server.StartAsync().GetAwaiter().GetResult();
        _channel = ShmChannel.ForAddress(address);
        _client = new Conformance.ConformanceClient(_channel);
    }

    [GlobalCleanup]
    public void CleanUp()
    {
        _channel.Dispose();
        _server.DisposeAsync().AsTask().GetAwaiter().GetResult();
    }

    [Benchmark(Description = "a blocking unary call of 100 B, both sides")]
    public Payload Blocking() => _client.Echo(_request);

    [Benchmark(Description = "an awaited unary call of 100 B, both sides")]
    public async Task<Payload> Awaited() => await _client.EchoAsync(_request);
}
