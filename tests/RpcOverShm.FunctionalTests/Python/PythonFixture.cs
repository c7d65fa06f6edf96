using System.Runtime.InteropServices;
using NUnit.Framework.Interfaces;

namespace RpcOverShm.FunctionalTests.Python;

/// <summary>
/// The base of fixtures with a server of this library and the client that was written from PROTOCOL.md alone. The tests
/// use the same client one after the other, because the start of Python costs more than most tests.
/// </summary>
[LinuxOnly("The second implementation is for Unix sockets.")]
internal abstract class PythonFixture() : RigFixture(RigKind.Shm)
{
    private PythonClient? _client;

    [OneTimeSetUp]
    public void CheckMachine()
    {
        if (RuntimeInformation.ProcessArchitecture != Architecture.X64)
        {
            Assert.Ignore("shm_client.py relies on the order of loads and stores of x86-64.");
        }
    }

    /// <summary>Closes the client's connections. After a failure it may be in any state, and ends.</summary>
    [TearDown]
    public async Task ResetClientAsync()
    {
        bool isReset = false;
        try
        {
            if (_client is not null && TestContext.CurrentContext.Result.Outcome.Status != TestStatus.Failed)
            {
                await _client.ResetAsync();
                isReset = true;
            }
        }
        finally
        {
            if (!isReset)
            {
                await EndClientAsync();
            }
        }
    }

    [OneTimeTearDown]
    public async Task EndClientAsync()
    {
        if (_client is { } client)
        {
            _client = null;
            await client.DisposeAsync();
        }
    }

    /// <summary>Returns the client of the test before, without connections, or a new one.</summary>
    protected async Task<PythonClient> TakeClientAsync() => _client ??= await PythonClient.StartAsync();

    /// <summary>Starts a server of both test services, and connects the client to it.</summary>
    protected async Task<(ShmRig Rig, PythonClient Client)> StartPairAsync(
        RigOptions? options = null, Script? script = null, string connect = "")
    {
        ShmRig rig = await StartShmAsync(
            options,
            Conformance.BindService(new ConformanceService()),
            (script ?? new Script()).Build());
        PythonClient client = await TakeClientAsync();
        await client.DoAsync($"connect {rig.Place} {connect}");
        return (rig, client);
    }
}
