using RpcOverShm.Systems;

namespace RpcOverShm.Scheduling;

/// <summary>
/// A source that has a wire, door or process alone and no ring: nobody rings, and there is nothing to see before that
/// becomes readable. It runs then, when it was requested, and when it is due. It runs no user code.
/// </summary>
internal abstract class WatchableSource : EventSource
{
    public sealed override bool HasRing => false;

    public sealed override bool HasWork => false;

    public sealed override bool NeedsReader => false;

    /// <summary>The thing that is watched, or was last; null before that.</summary>
    protected Watchable? Watched { get; private set; }

    /// <summary>
    /// Begins to serve the source and to watch something; later, to watch another one in its place. Returns null
    /// on success, else the reason. The caller keeps it open until <see cref="EndWatch"/>.
    /// </summary>
    public string? Watch(EventLoop loop, Watchable watched)
    {
        // Stored first, because the source may run at once.
        Watchable? former = Watched;
        Watched = watched;
        if (former is null)
        {
            return loop.Add(this, watched);
        }

        string? problem = loop.Watch(this, watched);
        if (problem is null)
        {
            loop.Unwatch(former);
        }
        else
        {
            Watched = former;
        }

        return problem;
    }

    /// <summary>Ends the service of the source, if it has begun. Afterwards what it watched may be closed.</summary>
    public void EndWatch()
    {
        if (Loop is { } loop)
        {
            loop.Unwatch(Watched!);
            loop.Remove(this);
        }
    }

    public sealed override bool Run(LoopThread me)
    {
        OnReady();
        return true;
    }

    public sealed override bool TryPark() => true;

    public sealed override void OnSocket() => Request();

    public sealed override void DrainSocket(bool hasEnded)
    {
        // What has come is read in the run. Edges are told apart without that.
    }

    /// <summary>
    /// The watched thing may be readable, or the source was requested or is due. Called on the loop's thread; neither
    /// waits nor throws. Readable is told once for all that has come until then.
    /// </summary>
    protected abstract void OnReady();

    protected sealed override MissedDoorbell? FindMissedDoorbell() => null;

    protected sealed override void OnLostDoorbell()
    {
    }
}
