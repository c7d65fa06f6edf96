namespace RpcOverShm;

/// <summary>
/// The time for which an instance of a service serves calls (<see cref="ShmServiceOptions.Lifetime"/>).
/// </summary>
public enum ShmServiceLifetime
{
    /// <summary>
    /// Each call has an instance of its own: created when its method begins, released when the method has returned,
    /// before the response is sent. This is the default.
    /// </summary>
    PerCall,

    /// <summary>
    /// Each session has an instance of its own: created when the first call of the session needs it, released after the
    /// session has ended and the methods that still ran on it have returned.
    /// </summary>
    PerSession,

    /// <summary>
    /// One instance serves all calls. It is created when the first call needs it, and released after the server has
    /// stopped or the channel was shut down.
    /// </summary>
    Singleton,
}
