using RpcOverShm.MessagePack.Tests;

// Fixtures keep what a test needs in fields; a fresh instance for each test spares them the tidying up.
[assembly: FixtureLifeCycle(LifeCycle.InstancePerTestCase)]
[assembly: HangGuard]
