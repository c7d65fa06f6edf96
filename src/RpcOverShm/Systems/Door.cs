namespace RpcOverShm.Systems;

/// <summary>
/// The server's end of an address, where clients come in. One thread at a time accepts; one thread at a time checks,
/// and may wait for the file system meanwhile; any thread ends it.
/// </summary>
internal abstract class Door
{
    /// <summary>The time between two checks.</summary>
    public static readonly TimeSpan CheckInterval = TimeSpan.FromSeconds(1);

    /// <summary>The address at which clients find the server now.</summary>
    public abstract RendezvousAddress Address { get; }

    /// <summary>
    /// The thing that becomes readable when clients come; another one after <see cref="Check"/> has listened again. Who
    /// accepts from the former one closes that, by <see cref="CloseFormer"/>.
    /// </summary>
    public abstract Watchable Listening { get; }

    /// <summary>
    /// Checks that clients can find the server, and listens again if they cannot. Throws no I/O error.
    /// </summary>
    public abstract void Check();

    /// <summary>
    /// Accepts a client without waiting. Returns null if none waits or the call failed; the outcome tells which.
    /// </summary>
    /// <param name="listening">That of <see cref="Listening"/> or the one before it.</param>
    /// <param name="outcome">What happened.</param>
    /// <param name="failure">The exception, for <see cref="AcceptOutcome.Failed"/>.</param>
    public abstract Wire? TryAccept(Watchable listening, out AcceptOutcome outcome, out Exception? failure);

    /// <summary>Keeps a handle to give up when no other is free. Called before each turn of accepts.</summary>
    public abstract void KeepSpare();

    /// <summary>Gives the spare handle up, and accepts a client that is to be refused; null if that fails.</summary>
    public abstract Wire? TryAcceptWithSpare(Watchable listening);

    /// <summary>Closes a former value of <see cref="Listening"/>.</summary>
    public abstract void CloseFormer(Watchable former);

    /// <summary>Accepts no more clients. The address stays taken.</summary>
    public abstract void EndListening();

    /// <summary>Gives the address up, after <see cref="EndListening"/>.</summary>
    public abstract void Remove();
}

/// <summary>The outcomes of an attempt to accept.</summary>
internal enum AcceptOutcome
{
    /// <summary>A client was accepted.</summary>
    Accepted,

    /// <summary>No client waits.</summary>
    NoneWaits,

    /// <summary>The call was interrupted: the next one may succeed.</summary>
    Interrupted,

    /// <summary>No handle is free.</summary>
    NoHandleFree,

    /// <summary>It failed otherwise.</summary>
    Failed,
}
