namespace RpcOverShm.Clients;

/// <summary>
/// Who has the one request of a call in hand. One byte, which the thread that starts the call and the holder of the
/// reader role race for: whoever comes second starts a refused call anew.
/// </summary>
internal enum RequestHold : byte
{
    /// <summary>The thread that starts the call, or nobody yet: nobody else may serialise it.</summary>
    WithStarter,

    /// <summary>Nobody: the request is in the ring or in the sender's queue.</summary>
    LetGo,

    /// <summary>The thread that starts the call, and the server has refused that meanwhile.</summary>
    RefusedMeanwhile,
}
