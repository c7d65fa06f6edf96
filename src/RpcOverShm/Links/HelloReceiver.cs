using System.Runtime.InteropServices;
using RpcOverShm.Protocol;
using RpcOverShm.Systems;

namespace RpcOverShm.Links;

/// <summary>
/// Receives one message of the handshake, in as many pieces as it comes, without waiting. A hello carries the handles
/// of its system, a refusal none. All others go to <see cref="ForeignHandles"/>. If a hello has only versions that this
/// build does not speak, the result has only the fields that all versions share, and no handle.
/// One thread at a time may use it.
/// </summary>
internal sealed class HelloReceiver : IDisposable
{
    /// <summary>More handles than any valid message carries.</summary>
    public const int MostHandles = 8;

    private readonly Wire _wire;
    private readonly int _mostHandles;
    private readonly byte[] _buffer = new byte[Hello.MaxSizeBytes];
    private readonly List<SafeHandle> _handles = [];
    private int _handleCount; // all that have come; the first ones are kept
    private int _received;
    private int _needed = Hello.CommonSizeBytes;

    /// <param name="wire">The wire, which stays the caller's.</param>
    /// <param name="mostHandles">The handles that may come before the version is known.</param>
    /// <param name="begun">Bytes of the message that were received already.</param>
    public HelloReceiver(
        Wire wire, int mostHandles = MostHandles, ReadOnlySpan<byte> begun = default)
    {
        _wire = wire;
        _mostHandles = mostHandles;
        begun.CopyTo(_buffer);
        _received = begun.Length;
        _needed = Hello.PeekLength(begun) ?? Hello.CommonSizeBytes;
    }

    private static int Right => HostSystem.Current.HandlesOfHello;

    /// <summary>Whether no byte has come yet.</summary>
    public bool IsSilent => _received == 0;

    /// <summary>The complete message; null before that, and if the peer has closed before the first byte.</summary>
    public Hello? Message { get; private set; }

    /// <summary>Takes what has come. Returns false if more is needed for <see cref="Message"/>.</summary>
    /// <exception cref="ProtocolException">The message is malformed, or has a wrong number of handles.</exception>
    /// <exception cref="SegmentException">The handles that came with it could not be received.</exception>
    public bool TryReceive()
    {
        while (_received < _needed)
        {
            // Never reads past the end of this message: the bytes behind it belong to the next receive.
            int count = _wire.Receive(_buffer.AsSpan(_received, _needed - _received), _handles);
            if (count < 0)
            {
                return false;
            }

            if (count == 0)
            {
                return IsSilent
                    ? true
                    : throw new ProtocolException(
                        $"The other side closed after {_received} bytes of a handshake message.");
            }

            _received += count;
            DropSurplus();
            _needed = Hello.PeekLength(_buffer.AsSpan(0, _received)) ?? Hello.CommonSizeBytes;
            bool isCommonRead = _received >= Hello.CommonSizeBytes;
            if (isCommonRead && Hello.IsForeign(_buffer))
            {
                Message = Hello.Decode(_buffer.AsSpan(0, _received));
                Dispose();
                return true;
            }

            // A peer that sends a message in many pieces could attach handles to each, thousands in all. Before the
            // common part is complete the limit is higher, because a later version may send more than one.
            int most = isCommonRead ? Math.Min(Right, _mostHandles) : _mostHandles;
            if (_handleCount > most)
            {
                throw WrongCount(Math.Min(Right, _mostHandles));
            }
        }

        Hello message = Hello.Decode(_buffer.AsSpan(0, _needed));
        int right = message.Type == HelloType.Refusal ? 0 : HandlesOf(message);
        Message = _handleCount == right ? message : throw WrongCount(right);
        return true;
    }

    /// <summary>Returns the handles that came with the complete message, for the caller to dispose.</summary>
    public SafeHandle[] TakeHandles()
    {
        SafeHandle[] handles = [.. _handles];
        _handles.Clear();
        return handles;
    }

    // A reader of statistics gets the page alone, since no thread sleeps there.
    private static int HandlesOf(Hello hello) =>
        hello is { Type: HelloType.Server, Purpose: ConnectionPurpose.Statistics } ? 1 : Right;

    public void Dispose()
    {
        _handles.ForEach(ForeignHandles.Shared.Close);
        _handles.Clear();
    }

    // The others would cost handles of this process for as long as the peer leaves its message incomplete.
    private void DropSurplus()
    {
        int kept = Math.Min(_handleCount, Right);
        _handleCount += _handles.Count - kept;
        while (_handles.Count > Right)
        {
            ForeignHandles.Shared.Close(_handles[^1]);
            _handles.RemoveAt(_handles.Count - 1);
        }
    }

    private ProtocolException WrongCount(int right) =>
        new($"{_handleCount} {HostSystem.Current.HandlesName} came with a handshake message; {right} is right.");
}
