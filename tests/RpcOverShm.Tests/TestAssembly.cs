// A new instance for each test, because fixtures keep the objects of a test in fields.
[assembly: FixtureLifeCycle(LifeCycle.InstancePerTestCase)]
[assembly: HangGuard]
