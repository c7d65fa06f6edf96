using Grpc.Core;
using RpcOverShm.Sending;

namespace RpcOverShm.Servers;

/// <content>
/// The end of a one-way call, of which its client hears nothing. Once its request has come whole, neither the client
/// nor the end of the connection ends it: the client has let it go and may have left.
/// </content>
internal sealed partial class ServerCall
{
    public override OneWayCharge? OneWay => charge;

    /// <summary>Ends a one-way call, unless it has ended. Any end but OK is reported on the server.</summary>
    /// <param name="status">The status that a client would have got.</param>
    /// <param name="exception">The exception of the method; null for none.</param>
    /// <param name="isStop">Whether the call is ended from outside its method.</param>
    public void EndOneWay(in Status status, Exception? exception = null, bool isStop = false)
    {
        if (!TrySetEnded(status.StatusCode))
        {
            return;
        }

        if (status.StatusCode != StatusCode.OK)
        {
            OneWayFailure.Report(this, charge!, status, exception);
        }

        AfterEnd(isToldMethod: isStop);
    }

    /// <summary>Ends a one-way call that its client did not send to the end, as its sender knows.</summary>
    private void GiveUpOneWay()
    {
        _isStopped |= !IsEnded;
        if (!TrySetEnded(StatusCode.Cancelled))
        {
            return;
        }

        AfterEnd(isToldMethod: true);
        if (_handler is null && !_isRefused)
        {
            charge!.EndMethod(); // Its head was not whole, so no method was counted.
        }
    }
}
