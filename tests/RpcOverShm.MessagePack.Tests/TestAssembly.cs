using MessagePack.Internal;
using RpcOverShm.MessagePack.Tests.Objects;
using RpcOverShm.Testing;

// A new instance for each test, because fixtures keep the objects of a test in fields.
[assembly: FixtureLifeCycle(LifeCycle.InstancePerTestCase)]
[assembly: HangGuard]
[assembly: GeneratedAssemblyMessagePackResolver(typeof(AnnouncedResolver), 3, 1)]
