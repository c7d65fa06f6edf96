namespace RpcOverShm.FunctionalTests.Support;

/// <summary>Exceptions of asynchronous methods, thrown directly or through the task: gRPC defines which.</summary>
internal static class Thrown
{
    /// <summary>Returns the exception that the method itself throws; null if it returns a task.</summary>
    public static Exception? By(Func<Task> action) => Try(action).Thrown;

    /// <summary>Returns the exception thrown directly or through the task; null if none.</summary>
    public static async Task<Exception?> InAllAsync(Func<Task> action)
    {
        (Exception? thrown, Task? task) = Try(action);
        if (task is null)
        {
            return thrown;
        }

        try
        {
            await task.Bounded();
            return null;
        }
        catch (Exception exception) when (task.IsCompleted) // else the limit of the wait has expired
        {
            return exception;
        }
    }

    /// <summary>Returns the task's exception, or null; fails if the method itself throws.</summary>
    public static Task<Exception?> ThroughTaskAsync(Func<Task> action)
    {
        (Exception? thrown, Task? task) = Try(action);
        Assert.That(thrown, Is.Null, "The method itself threw.");
        return InAllAsync(() => task!);
    }

    private static (Exception? Thrown, Task? Task) Try(Func<Task> action)
    {
        try
        {
            return (null, action());
        }
        catch (Exception exception)
        {
            return (exception, null);
        }
    }
}
