using System.Globalization;

namespace RpcOverShm.Testing;

/// <summary>
/// The bounds of waits in tests. They only end tests that hang: no test measures time with them, and none passes because
/// one has run out. Generous, since machines that build are busy; the hang watchdog's bound is longer.
/// </summary>
public static class Timeouts
{
    /// <summary>How long a test waits for any one thing.</summary>
    public static TimeSpan Wait { get; } = FromEnvironment("RPCOVERSHM_TEST_WAIT_SECONDS", 30);

    /// <summary>How long a whole test may take before the run is ended.</summary>
    public static TimeSpan Hang { get; } = FromEnvironment("RPCOVERSHM_TEST_HANG_SECONDS", 60);

    /// <summary>Waits for the task, but not for ever.</summary>
    /// <exception cref="TimeoutException">The task has not completed in time.</exception>
    public static Task Bounded(this Task task) => task.WaitAsync(Wait);

    /// <summary>Waits for the task's result, but not for ever.</summary>
    /// <exception cref="TimeoutException">The task has not completed in time.</exception>
    public static Task<T> Bounded<T>(this Task<T> task) => task.WaitAsync(Wait);

    /// <summary>Waits for the task, but not for ever.</summary>
    /// <exception cref="TimeoutException">The task has not completed in time.</exception>
    public static Task Bounded(this ValueTask task) => task.AsTask().WaitAsync(Wait);

    /// <summary>Waits for the task's result, but not for ever.</summary>
    /// <exception cref="TimeoutException">The task has not completed in time.</exception>
    public static Task<T> Bounded<T>(this ValueTask<T> task) => task.AsTask().WaitAsync(Wait);

    private static TimeSpan FromEnvironment(string name, int defaultSeconds) =>
        int.TryParse(Environment.GetEnvironmentVariable(name), CultureInfo.InvariantCulture, out int seconds)
            ? TimeSpan.FromSeconds(seconds)
            : TimeSpan.FromSeconds(defaultSeconds);
}
