using MessagePack.Internal;
using RpcOverShm.MessagePack.Tests;
using RpcOverShm.MessagePack.Tests.Objects;

// Fixtures keep what a test needs in fields; a fresh instance for each test spares them the tidying up.
[assembly: FixtureLifeCycle(LifeCycle.InstancePerTestCase)]
[assembly: HangGuard]
[assembly: GeneratedAssemblyMessagePackResolver(typeof(AnnouncedResolver), 3, 1)]
