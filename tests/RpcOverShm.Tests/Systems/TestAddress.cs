using RpcOverShm.Systems;

namespace RpcOverShm.Tests.Systems;

/// <summary>The address of one test: a socket in a directory of its own; on Windows a pipe.</summary>
internal sealed class TestAddress : IDisposable
{
    private readonly TestDirectory? _directory = OperatingSystem.IsWindows() ? null : new TestDirectory();

    public TestAddress() =>
        Address = _directory is null ? New() : RendezvousAddress.Parse($"shm://{_directory.Combine("s")}", null);

    public RendezvousAddress Address { get; }

    /// <summary>Returns the address of a pipe that nobody has.</summary>
    public static RendezvousAddress New() => RendezvousAddress.Parse($"shm://test-{Guid.NewGuid():N}", null);

    public void Dispose() => _directory?.Dispose();
}
