namespace RpcOverShm.Testing;

/// <summary>Exceptions of tasks that were collected as garbage before anything observed them.</summary>
public static class Unobserved
{
    /// <summary>Runs a delegate, collects the garbage and returns the exceptions of its unobserved tasks.</summary>
    public static async Task<IReadOnlyList<Exception>> InAsync(Func<Task> act)
    {
        var unobserved = new List<Exception>();
        void Note(object? sender, UnobservedTaskExceptionEventArgs arguments)
        {
            lock (unobserved)
            {
                // A watch of Grpc.HealthCheck, of an earlier test, writes after the end of its call and drops the task.
                unobserved.AddRange(arguments.Exception.InnerExceptions.Where(
                    one => one.StackTrace?.Contains("Grpc.HealthCheck", StringComparison.Ordinal) != true));
            }
        }

        Collect();
        TaskScheduler.UnobservedTaskException += Note;
        try
        {
            await act();
            Collect();
        }
        finally
        {
            TaskScheduler.UnobservedTaskException -= Note;
        }

        return unobserved;
    }

    /// <summary>Collects the garbage, including what finalizers release.</summary>
    public static void Collect()
    {
        for (int i = 0; i < 3; i++)
        {
            GC.Collect();
            GC.WaitForPendingFinalizers();
        }
    }
}
