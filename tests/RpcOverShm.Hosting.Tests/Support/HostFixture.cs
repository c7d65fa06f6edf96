namespace RpcOverShm.Hosting.Tests.Support;

/// <summary>The base of fixtures whose tests have a host each.</summary>
public abstract class HostFixture
{
    /// <summary>The host of the test. A test that needs another one disposes this first.</summary>
    private protected TestHost Host { get; set; } = new();

    [TearDown]
    public async Task DisposeHost() => await Host.DisposeAsync();
}
