namespace RpcOverShm.FunctionalTests.Instances;

/// <summary>The base of fixtures whose server creates the instances of its service.</summary>
internal abstract class InstanceFixture() : RigFixture(RigKind.Shm)
{
    protected Task<ShmRig> StartAsync(Probe probe, ShmServiceOptions? options, RigOptions? rig = null) =>
        StartAsync(services => services.Add(probe.Create, options), rig);

    protected Task<ShmRig> StartAsync(Action<ShmServiceCollection> add, RigOptions? rig = null) => StartShmAsync(
        (rig ?? new RigOptions()) with { Services = add }, new Script().Build());

    protected static ConformanceContract.ConformanceClient To(ChannelBase channel) => new(channel);

    /// <summary>A client of the services that the caller of a method offers.</summary>
    protected static ScriptClient Back(ServerCallContext context) =>
        new(context.GetShmSession().CreateCallInvoker());
}
