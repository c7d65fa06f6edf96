namespace RpcOverShm.Connections;

/// <summary>How far the sending of a call has come.</summary>
internal enum CallSendPhase : byte
{
    /// <summary>The peer knows nothing of the call.</summary>
    New,

    /// <summary>The call's first frame is in the ring.</summary>
    Open,

    /// <summary>Nothing may be sent any more: the call has ended or was given up.</summary>
    Finished,
}
