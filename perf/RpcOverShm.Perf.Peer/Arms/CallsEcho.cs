using Google.Protobuf;
using RpcOverShm.Testing.Protos;

namespace RpcOverShm.Perf.Peer.Arms;

/// <summary>
/// The client's end of an echo by a generated client. A fresh request for each call, as in a real program; it shares
/// the caller's bytes.
/// </summary>
internal sealed class CallsEcho(Conformance.ConformanceClient client) : IEcho
{
    private byte[] _bytes = [];
    private Payload _request = new();
    private Payload _reply = new();

    public ReadOnlySpan<byte> Reply => _reply.Data.Span;

    public Memory<byte> Prepare(int sizeBytes)
    {
        _bytes = _bytes.Length == sizeBytes ? _bytes : new byte[sizeBytes];
        _request = new Payload { Data = UnsafeByteOperations.UnsafeWrap(_bytes) };
        return _bytes;
    }

    public void Call() => _reply = client.Echo(_request);

    public async ValueTask CallAsync() => _reply = await client.EchoAsync(_request);
}
