using RpcOverShm.Diagnostics;

namespace RpcOverShm.Loans;

/// <summary>A piece of a file of this side, which it writes and may lend to the peer any number of times.</summary>
internal sealed class LentPiece(LoanPool pool, LoanPlace place, int length)
    : MappedPiece(place.File.Memory, place.Offset, length)
{
    public LoanPool Pool => pool;

    public LoanPlace Place => place;

    /// <summary>
    /// Ends the use of a frame, and its loan unless it is sent: the peer has that one then. Before the record is
    /// published.
    /// </summary>
    public void EndFrame(bool isSent)
    {
        pool.OnFrameEnded(place, isSent);
        if (isSent)
        {
            ProcessCounts.LentPayloads.Add();
        }

        EndUse();
    }

    protected override void OnUnused() => pool.OnUnused(place);

    protected override void OnLeaked() => pool.OnLeaked(Length);
}
