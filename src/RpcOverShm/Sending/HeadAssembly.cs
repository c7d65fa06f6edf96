using RpcOverShm.Buffers;
using RpcOverShm.Protocol;

namespace RpcOverShm.Sending;

/// <summary>
/// Assembles a head that arrives in several records, up to this side's limit. Above the limit it drops the rest, so a
/// large head fails only its own call. Used by the holder of the reader role only.
/// </summary>
internal sealed class HeadAssembly(FrameKind kind, FrameFlags flags, int limitBytes) : IDisposable
{
    private readonly PooledBufferWriter _bytes = new();

    /// <summary>The kind of the first record.</summary>
    public FrameKind Kind { get; } = kind;

    /// <summary>The flags of the first record.</summary>
    public FrameFlags Flags { get; } = flags;

    public bool IsTooLarge { get; private set; }

    public ReadOnlySpan<byte> Bytes => _bytes.WrittenSpan;

    public void Append(ReadOnlySpan<byte> bytes)
    {
        if (IsTooLarge || bytes.Length > limitBytes - _bytes.Length)
        {
            IsTooLarge = true;
            _bytes.Dispose();
            return;
        }

        _bytes.Write(bytes);
    }

    public void Dispose() => _bytes.Dispose();
}
