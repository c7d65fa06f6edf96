using System.Runtime.InteropServices;
using RpcOverShm.Loans;
using RpcOverShm.Protocol;
using RpcOverShm.Systems;

namespace RpcOverShm.Links;

/// <content>
/// What passes the socket between doorbells: each data file of loans and each topic of a server, once, as a
/// <see cref="FileNotice"/> with its descriptor, and the handles of calls, as a <see cref="HandleNotice"/> with theirs.
/// </content>
internal sealed partial class PeerLink
{
    // The socket holds some 160 of an honest peer, which may send more while these are read. The loop reads no others
    // meanwhile, so there is an end.
    private const int MostNoticesInARow = 4096;

    private readonly byte[] _notice = new byte[FileNotice.EncodedBytes]; // the one that is being received
    private int _noticeBytes;
    private int _noticesInARow;

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
    /// <exception cref="ProtocolException">The notice is not allowed, or has another number of descriptors.</exception>
    private bool TryReceiveNotice(ref ReadOnlySpan<byte> bytes)
    {
        if (bytes.IsEmpty && _noticeBytes == 0)
        {
            return _passed.Count == 0 ? true : throw WrongPassing();
        }

        if (_noticeBytes == 0 && !IsNotice(bytes[0]))
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
            OnNotice();
        }

        return true;
    }

    private bool IsNotice(byte type) =>
        (type == FileNotice.Type && TakesFiles) || (type == HandleNotice.Type && Handles is not null);

    private void OnNotice()
    {
        if (++_noticesInARow > MostNoticesInARow)
        {
            throw new ProtocolException($"The peer passed {MostNoticesInARow} sets of handles without a pause.");
        }

        if (_notice[0] == HandleNotice.Type)
        {
            var notice = HandleNotice.Decode(_notice);
            Handles!.Receive(notice, TakePassed(notice.Count));
        }
        else
        {
            OnFile(FileNotice.Decode(_notice), TakePassed(count: 1)[0]);
        }
    }

    private void OnFile(FileNotice notice, SafeHandle handle)
    {
        if (notice.IsTopic && PeerTopics is not null)
        {
            PeerTopics.Add(notice, handle);
        }
        else if (!notice.IsTopic && Loans is not null)
        {
            PeerFile file = Loans.Borrowed.Add(notice);
            Loans.BeginMap(file, handle);
        }
        else
        {
            ForeignHandles.Shared.Close(handle);
            throw new ProtocolException($"The peer passed file {notice.Number}, of a kind that was not agreed on.");
        }
    }

    // A notice is sent by one call, and the system takes so few bytes whole.
    private void EndNotice()
    {
        if (_noticeBytes > 0)
        {
            throw new ProtocolException($"The peer passed a descriptor with {_noticeBytes} bytes of its notice.");
        }
    }

    private SafeHandle[] TakePassed(int count)
    {
        SafeHandle[] handles = _passed.Count == count ? [.. _passed] : throw WrongPassing();
        _passed.Clear();
        return handles;
    }

    // A close that the peer can make last must not be left to the thread of the finalizers.
    private void DropPassed()
    {
        _passed.ForEach(ForeignHandles.Shared.Close);
        _passed.Clear();
    }

    private ProtocolException WrongPassing() => new(
        $"The peer passed {_passed.Count} descriptors; one comes with each data file, as many as its notice says with "
        + "the handles of a call, and none otherwise.");
}
