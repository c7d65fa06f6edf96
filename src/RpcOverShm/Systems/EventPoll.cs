namespace RpcOverShm.Systems;

/// <summary>
/// Waits on one thread for many wires, doors and processes. Each change from "nothing to read" to readable is reported
/// once (edge-triggered): the next one after a receive has found nothing. Any thread can end the wait. Add, Remove and
/// Wake are thread-safe until it is disposed; one thread at a time waits.
/// </summary>
internal abstract class EventPoll : IDisposable
{
    /// <summary>The most events that one wait returns.</summary>
    public const int MostEvents = 64;

    /// <summary>Ends the wait, or the next one if no thread waits. Returns at once.</summary>
    public abstract void Wake();

    /// <summary>
    /// Begins to watch, with a key above 0. Returns null on success, else the system's reason. A poll for doors may
    /// refuse processes, and another one doors.
    /// </summary>
    public abstract string? Add(Watchable watched, ulong key);

    /// <summary>
    /// Ends to watch. What was never added, or is closed already, is no error. An event that has been reported, or is
    /// being reported, may still come.
    /// </summary>
    public abstract void Remove(Watchable watched);

    /// <summary>
    /// Waits for the timeout, or -1 for ever, until something has changed. Returns the number of events; also 0 before
    /// the timeout. One with the key 0 is of <see cref="Wake"/>.
    /// </summary>
    public abstract int Wait(Event[] events, int timeoutMilliseconds);

    public abstract void Dispose();

    /// <summary>A change of what has a key: it is readable, or it has ended or failed too.</summary>
    public readonly record struct Event(ulong Key, bool HasEnded);
}
