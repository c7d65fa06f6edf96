using System.Globalization;
using System.Runtime.InteropServices;
using RpcOverShm.Testing;

namespace RpcOverShm.TestPeer;

/// <summary>
/// Makes Linux kill this process when its parent dies, even if this process hangs. Without a hang, and on other
/// systems, the end of the standard input ends it.
/// </summary>
internal static partial class ParentWatch
{
    private const int SetParentDeathSignal = 1;
    private const int SigKill = 9;

    public static void Start()
    {
        if (!OperatingSystem.IsLinux())
        {
            return;
        }

        _ = Prctl(SetParentDeathSignal, SigKill, 0, 0, 0);

        // If the parent died before that line, the kernel sends no signal.
        string parent = GetParentProcessId().ToString(CultureInfo.InvariantCulture);
        if (Environment.GetEnvironmentVariable(PeerProcess.ParentVariable) is { } expected && expected != parent)
        {
            Environment.Exit(1);
        }
    }

    [LibraryImport("libc", EntryPoint = "prctl", SetLastError = true)]
    private static partial int Prctl(int option, nint argument2, nint argument3, nint argument4, nint argument5);

    [LibraryImport("libc", EntryPoint = "getppid")]
    private static partial int GetParentProcessId();
}
