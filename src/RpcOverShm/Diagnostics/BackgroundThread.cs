namespace RpcOverShm.Diagnostics;

/// <summary>Starts the threads of the library, without the context of the thread that asks for them.</summary>
internal static class BackgroundThread
{
    /// <summary>
    /// Gets or sets what refuses threads by their name, as a system without threads would. Null: nothing. For tests.
    /// </summary>
    public static Predicate<string>? Refuses { get; set; }

    /// <summary>Starts a thread. Returns null, or the exception if the system has no thread.</summary>
    /// <param name="run">What the thread does.</param>
    /// <param name="name">The name that debuggers show.</param>
    /// <param name="stackBytes">The size of its stack; 0 for the default, which user code needs.</param>
    public static Exception? TryStart(ThreadStart run, string name, int stackBytes)
    {
        if (Refuses?.Invoke(name) == true)
        {
            return new InvalidOperationException("A test refused the thread.");
        }

        try
        {
            new Thread(run, stackBytes) { IsBackground = true, Name = name }.UnsafeStart();
            return null;
        }
        catch (Exception exception) when (exception is OutOfMemoryException or ThreadStartException)
        {
            return exception;
        }
    }
}
