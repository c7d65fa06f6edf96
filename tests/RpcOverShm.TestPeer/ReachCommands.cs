using System.Globalization;

namespace RpcOverShm.TestPeer;

/// <summary>Tries what the system offers to reach into another process, as a hostile user does.</summary>
internal static class ReachCommands
{
    /// <summary>
    /// The reply has the number of the process's descriptors and of its mapped files that could be opened, and of its
    /// memory (0 or 1).
    /// </summary>
    public static string Reach(int processId)
    {
        string process = $"/proc/{processId.ToString(CultureInfo.InvariantCulture)}";
        return string.Create(
            CultureInfo.InvariantCulture,
            $"{Count($"{process}/fd")} {Count($"{process}/map_files")} {(CanOpen($"{process}/mem") ? 1 : 0)}");
    }

    private static int Count(string directory)
    {
        try
        {
            return Directory.EnumerateFileSystemEntries(directory).Count(CanOpen);
        }
        catch (Exception exception) when (exception is IOException or UnauthorizedAccessException)
        {
            return 0;
        }
    }

    private static bool CanOpen(string path)
    {
        try
        {
            File.OpenHandle(path, FileMode.Open, FileAccess.Read, FileShare.ReadWrite).Dispose();
            return true;
        }
        catch (Exception exception) when (exception is IOException or UnauthorizedAccessException)
        {
            return false;
        }
    }
}
