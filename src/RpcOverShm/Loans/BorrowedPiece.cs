using RpcOverShm.Protocol;

namespace RpcOverShm.Loans;

/// <summary>A piece of a file of the peer, which this side only reads and then gives back.</summary>
internal sealed class BorrowedPiece(PeerLoans loans, PeerFile file, LoanReference reference)
    : MappedPiece(file.Memory!, (long)reference.Block * LoanReference.BlockBytes, (int)reference.Length)
{
    protected override void OnUnused() => loans.GiveBack(file, reference);

    protected override void OnLeaked() => loans.OnLeaked(Length);
}
