using System.Globalization;

namespace RpcOverShm.FunctionalTests.Scheduling;

/// <summary>The facts of a thread that code can change which runs there, as that code finds them.</summary>
internal sealed record ThreadFacts(
    string? Name, ThreadPriority Priority, bool IsBackground, CultureInfo Culture, CultureInfo UICulture)
{
    private const string Changed = "changed";

    private static readonly CultureInfo s_changed = (CultureInfo)CultureInfo.InvariantCulture.Clone();

    /// <summary>Whether a thread of the library or of the pool is as it was before any user code ran there.</summary>
    public bool IsUnchanged =>
        Name != Changed
        && Priority == ThreadPriority.Normal
        && IsBackground
        && !ReferenceEquals(Culture, s_changed)
        && !ReferenceEquals(UICulture, s_changed);

    public static ThreadFacts OfThisThread() => new(
        Thread.CurrentThread.Name,
        Thread.CurrentThread.Priority,
        Thread.CurrentThread.IsBackground,
        CultureInfo.CurrentCulture,
        CultureInfo.CurrentUICulture);

    /// <summary>Changes all of it on this thread.</summary>
    public static void Change()
    {
        Thread me = Thread.CurrentThread;
        me.Name = Changed;
        me.Priority = ThreadPriority.Lowest;
        me.IsBackground = false;
        CultureInfo.CurrentCulture = s_changed;
        CultureInfo.CurrentUICulture = s_changed;
    }
}
