namespace RpcOverShm.Perf.Peer.Arms;

/// <summary>
/// The ceiling of every stream that copies: one thread copies each message into the next place of a buffer as large as
/// a ring, in one process, and nothing reads the bytes.
/// </summary>
internal sealed class MemoryCopyArm : IArm
{
    public string Name => "memcpy";

    public bool IsLocal => true;

    public bool Supports(LoadShape shape, CallerKind caller) =>
        shape == LoadShape.Pump && caller == CallerKind.Blocking;

    public Task<string> ServeAsync(string place) => Task.FromResult(place);

    public IArmClient MakeClient(string place) => new Client();

    private sealed class Client : IArmClient
    {
        public Task<IPump> OpenPumpAsync(CallerKind caller) => Task.FromResult<IPump>(new Pump());
    }

    private sealed class Pump : IPump
    {
        private readonly byte[] _ring = new byte[new ShmChannelOptions().Ring.Capacity];
        private byte[] _message = [];
        private int _offset;

        public Task ReceiveAsync(long messages, int sizeBytes, PumpSink sink)
        {
            if (_message.Length != sizeBytes)
            {
                _message = new byte[sizeBytes];
                new Random(sizeBytes).NextBytes(_message);
            }

            for (long i = 0; i < messages; i++)
            {
                for (ReadOnlySpan<byte> rest = _message; rest.Length > 0;)
                {
                    int bytes = Math.Min(rest.Length, _ring.Length - _offset);
                    rest[..bytes].CopyTo(_ring.AsSpan(_offset));
                    _offset = (_offset + bytes) % _ring.Length;
                    rest = rest[bytes..];
                }

                sink.CountUnchecked();
            }

            return Task.CompletedTask;
        }
    }
}
