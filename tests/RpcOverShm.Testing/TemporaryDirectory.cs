namespace RpcOverShm.Testing;

/// <summary>
/// A directory of one test, open to its user alone, with a short path: a socket's path holds 107 bytes. Removed with all
/// that is in it.
/// </summary>
public sealed class TemporaryDirectory : IDisposable
{
    public TemporaryDirectory() => FullName = Directory.CreateTempSubdirectory("shm-").FullName;

    public string FullName { get; }

    /// <summary>The path of a file in it; nothing is made.</summary>
    public string File(string name) => Path.Combine(FullName, name);

    public void Dispose()
    {
        try
        {
            Directory.Delete(FullName, recursive: true);
        }
        catch (IOException)
        {
            // Whatever still holds it is the test's failure, and the directory only litter.
        }
    }
}
