namespace RpcOverShm.Perf.Peer.Arms;

/// <summary>
/// The ceiling of every transport: one thread copies from one buffer of 64 MiB to another, in one process, and nothing
/// reads the bytes. Both are far larger than any cache. It copies large pieces for any size of message: the ceiling is
/// the same for all.
/// </summary>
internal sealed class MemoryCopyArm : IArm
{
    private const int BufferBytes = 64 << 20;
    private const int CopyBytes = 1 << 20;

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
        private readonly byte[] _source = new byte[BufferBytes];
        private readonly byte[] _target = new byte[BufferBytes];
        private int _offset;
        private long _owedBytes;

        public Pump() => new Random(BufferBytes).NextBytes(_source);

        public Task ReceiveAsync(long messages, int sizeBytes, PumpSink sink)
        {
            for (long i = 0; i < messages; i++)
            {
                for (_owedBytes += sizeBytes; _owedBytes >= CopyBytes; _owedBytes -= CopyBytes)
                {
                    _source.AsSpan(_offset, CopyBytes).CopyTo(_target.AsSpan(_offset));
                    _offset = (_offset + CopyBytes) % BufferBytes;
                }

                sink.CountUnchecked();
            }

            return Task.CompletedTask;
        }
    }
}
