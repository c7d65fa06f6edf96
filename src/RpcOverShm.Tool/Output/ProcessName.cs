namespace RpcOverShm.Tool.Output;

/// <summary>The names of processes, as the system has them.</summary>
internal static class ProcessName
{
    /// <summary>Returns the name of a process; null if there is none here, as for another container's.</summary>
    public static string? Of(int id)
    {
        try
        {
            // A process names itself: a line feed or a tab would break a table.
            return File.ReadAllText($"/proc/{id}/comm").TrimEnd('\n').Replace('\n', ' ').Replace('\t', ' ');
        }
        catch (Exception exception) when (exception is IOException or UnauthorizedAccessException)
        {
            return null;
        }
    }
}
