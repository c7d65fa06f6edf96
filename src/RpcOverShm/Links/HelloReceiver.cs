using System.Net.Sockets;
using Microsoft.Win32.SafeHandles;
using RpcOverShm.Protocol;
using RpcOverShm.Segments;

namespace RpcOverShm.Links;

/// <summary>
/// Receives one message of the handshake, in as many pieces as it comes, without waiting. A hello carries one
/// descriptor; a refusal carries none. All other descriptors go to <see cref="ForeignHandles"/>. If a hello has only
/// versions that this build does not speak, the result has only the fields that all versions share, and no descriptor.
/// One thread at a time may use it.
/// </summary>
internal sealed class HelloReceiver : IDisposable
{
    private readonly Socket _socket;
    private readonly int _mostDescriptors;
    private readonly byte[] _buffer = new byte[Hello.MaxSizeBytes];
    private readonly List<SafeFileHandle> _descriptors = [];
    private int _descriptorCount; // all that have come; the first one is kept
    private int _received;
    private int _needed = Hello.CommonSizeBytes;

    /// <param name="socket">The socket, which stays the caller's.</param>
    /// <param name="mostDescriptors">The descriptors that may come before the version is known.</param>
    /// <param name="begun">Bytes of the message that were received already.</param>
    public HelloReceiver(
        Socket socket, int mostDescriptors = DescriptorPassing.MaxDescriptors, ReadOnlySpan<byte> begun = default)
    {
        _socket = socket;
        _mostDescriptors = mostDescriptors;
        begun.CopyTo(_buffer);
        _received = begun.Length;
        _needed = Hello.PeekLength(begun) ?? Hello.CommonSizeBytes;
    }

    /// <summary>Whether no byte has come yet.</summary>
    public bool IsSilent => _received == 0;

    /// <summary>The complete message; null before that, and if the peer has closed before the first byte.</summary>
    public Hello? Message { get; private set; }

    /// <summary>Takes what has come. Returns false if more is needed for <see cref="Message"/>.</summary>
    /// <exception cref="ProtocolException">The message is malformed, or has a wrong number of descriptors.</exception>
    /// <exception cref="SegmentException">The descriptors that came with it could not be received.</exception>
    public bool TryReceive()
    {
        while (_received < _needed)
        {
            // Never reads past the end of this message: the bytes behind it belong to the next receive.
            int count = DescriptorPassing.Receive(
                _socket, _buffer.AsSpan(_received, _needed - _received), _descriptors);
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
            DropAllButOne();
            _needed = Hello.PeekLength(_buffer.AsSpan(0, _received)) ?? Hello.CommonSizeBytes;
            bool isCommonRead = _received >= Hello.CommonSizeBytes;
            if (isCommonRead && Hello.IsForeign(_buffer))
            {
                Message = Hello.Decode(_buffer.AsSpan(0, _received));
                Dispose();
                return true;
            }

            // A peer that sends a message in many pieces could attach descriptors to each, thousands in all. Before the
            // common part is complete the limit is higher, because a later version may send more than one.
            int most = isCommonRead ? Math.Min(1, _mostDescriptors) : _mostDescriptors;
            if (_descriptorCount > most)
            {
                throw WrongCount(Math.Min(1, _mostDescriptors));
            }
        }

        Hello message = Hello.Decode(_buffer.AsSpan(0, _needed));
        int right = message.Type == HelloType.Refusal ? 0 : 1;
        Message = _descriptorCount == right ? message : throw WrongCount(right);
        return true;
    }

    /// <summary>Returns the descriptor that came with the complete message, for the caller to dispose.</summary>
    public SafeFileHandle? TakeDescriptor()
    {
        SafeFileHandle? descriptor = _descriptors.Count == 0 ? null : _descriptors[0];
        _descriptors.Clear();
        return descriptor;
    }

    public void Dispose()
    {
        _descriptors.ForEach(ForeignHandles.Shared.Close);
        _descriptors.Clear();
    }

    // The others would cost descriptors of this process for as long as the peer leaves its message incomplete.
    private void DropAllButOne()
    {
        int kept = Math.Min(_descriptorCount, 1);
        _descriptorCount += _descriptors.Count - kept;
        while (_descriptors.Count > 1)
        {
            ForeignHandles.Shared.Close(_descriptors[^1]);
            _descriptors.RemoveAt(_descriptors.Count - 1);
        }
    }

    private ProtocolException WrongCount(int right) =>
        new($"{_descriptorCount} descriptors came with a handshake message; {right} is right.");
}
