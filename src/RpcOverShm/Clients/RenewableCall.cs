using RpcOverShm.Calls;

namespace RpcOverShm.Clients;

/// <summary>
/// A call that is started anew when a server that leaves has refused it before a method saw it: its user does not hear
/// of that. A few times, and not while its request is in the hands of the thread that has started it: where the refusal
/// comes meanwhile, that thread has it started anew.
/// </summary>
internal abstract class RenewableCall : AnsweredCall
{
    // A server that refuses calls has announced that it leaves: the next one is met over another connection.
    private const int MaxRenewals = 3;

    private object? _origin; // what the call was made from, or why its answer can't be read: never both

    /// <summary>True when a server that leaves has ended the call before a method saw it.</summary>
    private bool IsRefused
    {
        get => (Notes & CallNotes.IsRefused) != 0;
        set => Note(CallNotes.IsRefused, value);
    }

    /// <summary>How often the call was started anew, at most three times.</summary>
    private int Renewals
    {
        get => (int)(Notes & CallNotes.Renewals);
        set => Notes = (Notes & ~CallNotes.Renewals) | (CallNotes)value;
    }

    /// <summary>Keeps what the call is made from; see <see cref="CallOrigin.Of"/>.</summary>
    public void KeepOrigin(object origin) => _origin = origin;

    /// <summary>Makes a call as new that was refused: it is to be started once more. False for any other.</summary>
    public bool TryRenew()
    {
        if (!IsRefused || !TryDetach())
        {
            return false;
        }

        IsRefused = false;
        return true;
    }

    /// <summary>Starts a call anew that was refused.</summary>
    public void StartAnew()
    {
        if (_origin is not { } origin || !TryRenew())
        {
            return;
        }

        try
        {
            Start(origin);
        }
        catch (Exception exception)
        {
            // Whatever it is: nobody else is there to be told.
            FinishUnsent(StatusMapping.FromStartFailure(exception));
        }
    }

    public override void NoteHandedOver()
    {
        if (Interlocked.Exchange(ref Hold, RequestHold.LetGo) == RequestHold.RefusedMeanwhile)
        {
            QueueRenewal();
        }
    }

    /// <summary>Starts the call once more, from what was kept of it.</summary>
    protected abstract void Start(object origin);

    /// <summary>The call can't be made again any more.</summary>
    protected void ForgetOrigin() => _origin = null;

    /// <summary>The call was answered, and is not made again: its place is free for why that can't be read.</summary>
    protected void KeepProblem(Exception? unreadable) => _origin = unreadable;

    /// <summary>What was kept by <see cref="KeepProblem"/>; only after that.</summary>
    protected Exception? Problem => _origin as Exception;

    protected override void OnFinished() => ForgetOrigin();

    protected override bool TryNoteRefusal()
    {
        bool isRenewable = Waiter is not null || _origin is not null;
        if (!isRenewable || IsFinished || HasHeaders || Renewals == MaxRenewals)
        {
            return false;
        }

        Renewals++;
        IsRefused = true;
        if (Waiter is not null)
        {
            SetDone();
        }
        else if (Interlocked.CompareExchange(ref Hold, RequestHold.RefusedMeanwhile, RequestHold.WithStarter)
            == RequestHold.LetGo)
        {
            QueueRenewal();
        }

        return true;
    }

    protected override void Reset()
    {
        base.Reset();
        Renewals = 0;
    }

    private void QueueRenewal() =>
        ThreadPool.UnsafeQueueUserWorkItem(new CallRenewal(this), preferLocal: false);
}
