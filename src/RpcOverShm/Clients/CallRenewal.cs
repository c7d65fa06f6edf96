namespace RpcOverShm.Clients;

/// <summary>Starts a call anew that its server has refused unseen, on the thread pool.</summary>
internal sealed class CallRenewal(RenewableCall call) : IThreadPoolWorkItem
{
    /// <summary>Not for callers: the pool's way in.</summary>
    public void Execute() => call.StartAnew();
}
