using System.Runtime.InteropServices;
using RpcOverShm.Loans;
using RpcOverShm.Protocol;
using RpcOverShm.Systems;

namespace RpcOverShm.Links;

/// <content>
/// The data files of loans and the topics of a server: each is passed on the socket once, between doorbells, as a
/// <see cref="FileNotice"/> with its descriptor.
/// </content>
internal sealed partial class PeerLink
{
    private readonly byte[] _notice = new byte[FileNotice.EncodedBytes]; // the one that is being received
    private int _noticeBytes;

    /// <summary>
    /// Passes a data file to the peer. Returns false if the socket has no room, because the peer reads no doorbells, or
    /// the link has ended.
    /// </summary>
    private bool TryPassFile(FileNotice notice, SafeHandle handle)
    {
        Span<byte> bytes = stackalloc byte[FileNotice.EncodedBytes];
        notice.Encode(bytes);
        try
        {
            _wire.Send(bytes, [handle]);
            return true;
        }
        catch (Exception exception) when (exception is IOException or ObjectDisposedException)
        {
            return false;
        }
    }

    /// <summary>
    /// Takes the bytes of a notice at the start of those that have come, or the rest of one that has begun. Returns
    /// false if another message begins there.
    /// </summary>
    /// <exception cref="ProtocolException">The notice is not allowed, or has not exactly one descriptor.</exception>
    private bool TryReceiveFile(ref ReadOnlySpan<byte> bytes)
    {
        if (bytes.IsEmpty && _noticeBytes == 0)
        {
            return _passed.Count == 0 ? true : throw WrongPassing();
        }

        if (!TakesFiles || (_noticeBytes == 0 && bytes[0] != FileNotice.Type))
        {
            return _passed.Count == 0 ? false : throw WrongPassing();
        }

        int count = Math.Min(bytes.Length, _notice.Length - _noticeBytes);
        bytes[..count].CopyTo(_notice.AsSpan(_noticeBytes));
        bytes = bytes[count..];
        _noticeBytes += count;
        if (_noticeBytes == _notice.Length)
        {
            _noticeBytes = 0;
            OnFile(FileNotice.Decode(_notice));
        }

        return true;
    }

    private void OnFile(FileNotice notice)
    {
        if (notice.IsTopic ? PeerTopics is null : Loans is null)
        {
            throw new ProtocolException($"The peer passed file {notice.Number}, of a kind that was not agreed on.");
        }

        if (notice.IsTopic)
        {
            PeerTopics!.Add(notice, TakePassed());
        }
        else
        {
            PeerFile file = Loans!.Borrowed.Add(notice);
            Loans.BeginMap(file, TakePassed());
        }
    }

    // A notice is sent by one call, and the system takes so few bytes whole.
    private void EndNotice()
    {
        if (_noticeBytes > 0)
        {
            throw new ProtocolException($"The peer passed a data file with {_noticeBytes} bytes of its notice.");
        }
    }

    private SafeHandle TakePassed()
    {
        SafeHandle handle = _passed.Count == 1 ? _passed[0] : throw WrongPassing();
        _passed.Clear();
        return handle;
    }

    // A close that the peer can make last must not be left to the thread of the finalizers.
    private void DropPassed()
    {
        _passed.ForEach(ForeignHandles.Shared.Close);
        _passed.Clear();
    }

    private ProtocolException WrongPassing() => new(
        $"The peer passed {_passed.Count} descriptors; one comes with each data file, and none otherwise.");
}
