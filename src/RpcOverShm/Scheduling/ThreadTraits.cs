namespace RpcOverShm.Scheduling;

/// <summary>
/// The traits of a thread that code may change which runs there for a while: its name, its priority, and whether it is
/// a background thread, without which the process would never end. The ExecutionContext has none of them.
/// </summary>
internal readonly struct ThreadTraits
{
    private readonly Thread _thread;
    private readonly string? _name;
    private readonly ThreadPriority _priority;
    private readonly bool _isBackground;

    private ThreadTraits(Thread thread)
    {
        _thread = thread;
        _name = thread.Name;
        _priority = thread.Priority;
        _isBackground = thread.IsBackground;
    }

    public static ThreadTraits OfThisThread() => new(Thread.CurrentThread);

    /// <summary>
    /// Restores the traits; called on the same thread. Costs three nanoseconds if there is nothing to restore, so it
    /// may follow each run of user code.
    /// </summary>
    public void Restore()
    {
        if (!ReferenceEquals(_thread.Name, _name))
        {
            _thread.Name = _name;
        }

        if (_thread.Priority != _priority)
        {
            _thread.Priority = _priority;
        }

        if (_thread.IsBackground != _isBackground)
        {
            _thread.IsBackground = _isBackground;
        }
    }
}
