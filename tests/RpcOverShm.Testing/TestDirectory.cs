namespace RpcOverShm.Testing;

/// <summary>
/// The directory of one test, with the permissions and the short path that a runtime directory needs. Dispose deletes
/// it and its content.
/// </summary>
public sealed class TestDirectory : IDisposable
{
    private const UnixFileMode OwnerOnly = UnixFileMode.UserRead | UnixFileMode.UserWrite | UnixFileMode.UserExecute;

    public TestDirectory()
    {
        Path = System.IO.Path.Combine(System.IO.Path.GetTempPath(), UniqueName.Next("ros"));
        Directory.CreateDirectory(Path);
        SetMode(OwnerOnly);
    }

    public string Path { get; }

    /// <summary>
    /// The option RuntimeDirectory for the addresses of this directory. On Windows no address is in one.
    /// </summary>
    public string? Option => OperatingSystem.IsWindows() ? null : Path;

    /// <summary>The same as a word of a command of the test peer.</summary>
    public string Word => Option ?? "-";

    /// <summary>The sorted names of the files in the directory.</summary>
    public string[] FileNames =>
    [
        .. Directory.EnumerateFileSystemEntries(Path).Select(path => System.IO.Path.GetFileName(path))
            .Order(StringComparer.Ordinal),
    ];

    /// <summary>Returns the address of this name, which no other directory has.</summary>
    public string AddressOf(string name) =>
        OperatingSystem.IsWindows() ? $"shm://{name}-{System.IO.Path.GetFileName(Path)}" : $"shm://{name}";

    /// <summary>Returns the address of a path in this directory; on Windows that of a pipe.</summary>
    public string PathAddressOf(string name) => "shm://" + (OperatingSystem.IsWindows()
        ? $"/{System.IO.Path.GetFileName(Path)}/{name}"
        : Combine(name));

    public string Combine(string name) => System.IO.Path.Combine(Path, name);

    /// <summary>Grants other users access, which no runtime directory may do.</summary>
    public void OpenToOthers() => SetMode(OwnerOnly | UnixFileMode.OtherExecute);

    public void Dispose()
    {
        if (Directory.Exists(Path))
        {
            Directory.Delete(Path, recursive: true);
        }
    }

    private void SetMode(UnixFileMode mode)
    {
        if (!OperatingSystem.IsWindows())
        {
            File.SetUnixFileMode(Path, mode);
        }
    }
}

/// <summary>Returns names that no other test, run or process uses at the same time.</summary>
public static class UniqueName
{
    private static int s_last;

    public static string Next(string prefix = "t") =>
        $"{prefix}-{Environment.ProcessId}-{Interlocked.Increment(ref s_last)}";
}
