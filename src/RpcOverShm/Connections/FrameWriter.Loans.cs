using RpcOverShm.Loans;
using RpcOverShm.Protocol;

namespace RpcOverShm.Connections;

/// <content>References to memory of this side, and what is told about memory of the peer.</content>
internal sealed partial class FrameWriter
{
    /// <summary>
    /// The most bytes of a record with a reference. Such a record is never split: no call waits for credit with more.
    /// </summary>
    public const int MostReferenceBytes = MinPartBytes;

    /// <summary>The most bytes of a Returned frame of this side: 256 pieces. More go in further records.</summary>
    public const int ReturnedBytes = 2048;

    private const FrameFlags OfFirst = FrameFlags.Single | FrameFlags.Loaned;

    /// <summary>
    /// Writes a reference and the bytes before it as one record. Returns false, without effect, if it does not fit now.
    /// </summary>
    public bool TryWriteReference(ConnectionCall call, FrameFlags flags, ReadOnlySpan<byte> record, int wholeLength) =>
        GetNextRecordLength(call, flags, record.Length) == record.Length
        && TryWriteMessageRecord(call, flags, record, wholeLength, isLast: true);

    /// <summary>
    /// Writes what the peer must know of loans and topics, if anything. Returns false if the ring is full.
    /// </summary>
    public bool TryWriteNews() =>
        (link.Loans is not { HasNews: true } loans || (TryWriteWish(loans.Lent) && TryWriteNews(loans.Borrowed)))
        && (link.PeerTopics is not { HasNews: true } topics || (TryWriteAnswers(topics) && TryWriteReads(topics)))
        && (link.PassedTopics is not { HasNews: true } passed || TryWriteDropped(passed));

    private bool TryWriteWish(LoanPool lent)
    {
        if (lent.HasWish)
        {
            if (!TryWriteControl(CallId.None, FrameKind.ReturnsWanted))
            {
                return false;
            }

            lent.OnWishSent();
        }

        return true;
    }

    private bool TryWriteNews(PeerLoans borrowed)
    {
        while (borrowed.TryPeekAnswer(out uint number, out bool isMapped))
        {
            if (!TryWriteControl(CallId.None, isMapped ? FrameKind.FileMapped : FrameKind.FileRefused, number))
            {
                return false;
            }

            borrowed.DropAnswer();
        }

        return TryWriteReturned(borrowed);
    }

    private bool TryWriteReturned(PeerLoans borrowed)
    {
        Span<byte> entries = stackalloc byte[ReturnedBytes];
        int length;
        while ((length = borrowed.PeekReturned(entries)) > 0)
        {
            if (!TryWrite(CallId.None, FrameKind.Returned, 0, default, entries[..length], 0, isControl: true))
            {
                return false;
            }

            borrowed.DropReturned(length);
        }

        return true;
    }
}
