using RpcOverShm.Calls;

namespace RpcOverShm.Clients;

/// <content>The observers of a call: listeners of traces and metrics, and inspectors of its messages.</content>
internal abstract partial class ClientCall
{
    private CallObservation? _observation;

    /// <summary>The inspection of the messages; null if nobody sees them. Set before the call starts.</summary>
    public CallInspection? Inspection { get; set; }

    /// <summary>Whether somebody listens for the call's span or duration.</summary>
    protected bool IsObserved => _observation is not null;

    /// <summary>Lets an observation, if any, end with the call, which may have ended already.</summary>
    public void Observe(CallObservation? observation)
    {
        // A full fence (StoreLoad): a thread that ends the call stores the outcome and then reads the observation.
        Interlocked.Exchange(ref _observation, observation);
        EndObservation();
    }

    /// <summary>
    /// Ends the observation if the call has ended. Its listeners are user code, so only threads of the user and pending
    /// user code call this. They do so before the task of the user completes, or concurrently with that.
    /// </summary>
    public void EndObservation()
    {
        if (_observation is { } observation && Volatile.Read(ref _outcome) is { Status: var status })
        {
            observation.End(status.StatusCode, status.Detail);
        }
    }
}
