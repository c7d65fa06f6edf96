namespace RpcOverShm.Perf.Report;

/// <summary>Where the repository is, found from where the tests lie: the working directory may be any.</summary>
internal static class RepositoryRoot
{
    public static string Path { get; } = Find();

    private static string Find()
    {
        string start = System.IO.Path.GetDirectoryName(typeof(RepositoryRoot).Assembly.Location)!;
        for (DirectoryInfo? folder = new(start); folder is not null; folder = folder.Parent)
        {
            if (File.Exists(System.IO.Path.Combine(folder.FullName, "RpcOverShm.sln")))
            {
                return folder.FullName;
            }
        }

        throw new DirectoryNotFoundException($"No folder above '{start}' holds RpcOverShm.sln.");
    }
}
