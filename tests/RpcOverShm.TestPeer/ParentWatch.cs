using System.Globalization;
using System.Runtime.InteropServices;
using RpcOverShm.Testing;

namespace RpcOverShm.TestPeer;

/// <summary>
/// Sees to it that this process dies with its parent, even where it hangs: the kernel kills it. The end of the standard
/// input does the same where it does not hang.
/// </summary>
internal static partial class ParentWatch
{
    private const int SetParentDeathSignal = 1;
    private const int SigKill = 9;

    public static void Start()
    {
        _ = Prctl(SetParentDeathSignal, SigKill, 0, 0, 0);

        // A parent that died before that line sends no signal any more.
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
