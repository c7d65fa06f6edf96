namespace RpcOverShm.Testing;

/// <summary>
/// A directory of one test, with the access rights and the short path that a runtime directory needs. Its owner
/// disposes it, and with it what is left inside.
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

    /// <summary>The names of the files inside, sorted.</summary>
    public string[] FileNames =>
    [
        .. Directory.EnumerateFileSystemEntries(Path).Select(path => System.IO.Path.GetFileName(path))
            .Order(StringComparer.Ordinal),
    ];

    public string Combine(string name) => System.IO.Path.Combine(Path, name);

    /// <summary>What no runtime directory may be.</summary>
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
