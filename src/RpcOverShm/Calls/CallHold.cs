namespace RpcOverShm.Calls;

/// <summary>
/// Something that a running call holds, but lets go while its method waits for a callback. Thread-safe.
/// </summary>
internal abstract class CallHold
{
    /// <summary>Lets go. Has no effect if the call does not hold anything.</summary>
    public abstract void LetGo();

    /// <summary>
    /// Takes again what the call has let go. Does not fail. Completes at once if the call holds it or has ended.
    /// </summary>
    public abstract Task TakeAgainAsync();
}
