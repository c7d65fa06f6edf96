namespace RpcOverShm.FunctionalTests.Support;

/// <summary>How something fails: at once, or through its task. Both are parts of gRPC's behaviour.</summary>
internal static class Thrown
{
    /// <summary>What the method itself throws; null where it returns, whatever its task says.</summary>
    public static Exception? By(Func<Task> action) => Try(action).Thrown;

    /// <summary>What is thrown at once or through the task; null when nothing.</summary>
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
        catch (Exception exception)
        {
            return exception;
        }
    }

    /// <summary>What the task says; fails where the method itself throws.</summary>
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
