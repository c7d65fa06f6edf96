using System.Runtime.InteropServices;

namespace RpcOverShm.FunctionalTests.Python;

/// <summary>
/// The base of fixtures with a server of this library and the client that was written from PROTOCOL.md alone.
/// </summary>
internal abstract class PythonFixture() : RigFixture(RigKind.Shm)
{
    private readonly List<PythonClient> _clients = [];

    [OneTimeSetUp]
    public void CheckMachine()
    {
        if (RuntimeInformation.ProcessArchitecture != Architecture.X64)
        {
            Assert.Ignore("shm_client.py relies on the order of loads and stores of x86-64.");
        }
    }

    [TearDown]
    public async Task EndClientsAsync()
    {
        foreach (PythonClient client in _clients)
        {
            await client.DisposeAsync();
        }

        _clients.Clear();
    }

    protected async Task<PythonClient> StartClientAsync()
    {
        PythonClient client = await PythonClient.StartAsync();
        _clients.Add(client);
        return client;
    }

    /// <summary>Starts a server of both test services, and a client that is connected to it.</summary>
    protected async Task<(ShmRig Rig, PythonClient Client)> StartPairAsync(
        RigOptions? options = null, Script? script = null, string connect = "")
    {
        ShmRig rig = await StartShmAsync(
            options,
            Conformance.BindService(new ConformanceService()),
            (script ?? new Script()).Build());
        PythonClient client = await StartClientAsync();
        await client.DoAsync($"connect {rig.SocketPath} {connect}");
        return (rig, client);
    }
}
