using RpcOverShm.Explorer.Model;

namespace RpcOverShm.Explorer.Shims;

/// <summary>The crash points that the shipped code passes. The model kills processes at every step instead.</summary>
internal static class ModelCrashPoint
{
    public const string RecordRead = Diagnostics.CrashPoint.RecordRead;
    public const string RecordWritten = Diagnostics.CrashPoint.RecordWritten;

    public static void Reach(string point)
    {
        if (point == RecordRead)
        {
            RoleRun.Current.RecordRead();
        }
    }
}
