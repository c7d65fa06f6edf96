namespace RpcOverShm.FunctionalTests.Inspectors;

/// <summary>The base of fixtures with message inspectors on both sides.</summary>
internal abstract class InspectorFixture() : RigFixture(RigKind.Shm)
{
    protected RecordingInspector AtServer { get; private set; } = new();

    protected RecordingInspector AtClient { get; private set; } = new();

    [SetUp]
    public void MakeInspectors() => (AtServer, AtClient) = (new RecordingInspector(), new RecordingInspector());

    /// <summary>Starts a server and opens a channel, both with an inspector.</summary>
    protected Task<(ShmRig Rig, ShmChannel Channel)> StartInspectedAsync(
        Script script, RigOptions? options = null, Action<ShmChannelOptions>? change = null) =>
        StartInspectedAsync(options, change, script.Build());

    /// <summary>Starts a server and opens a channel, both with an inspector.</summary>
    protected async Task<(ShmRig Rig, ShmChannel Channel)> StartInspectedAsync(
        RigOptions? options, Action<ShmChannelOptions>? change, ServerServiceDefinition service)
    {
        ShmRig rig = await StartShmAsync(
            (options ?? new RigOptions()) with { Server = server => server.MessageInspectors.Add(AtServer) }, service);
        return (rig, rig.OpenChannel(channel =>
        {
            channel.MessageInspectors.Add(AtClient);
            change?.Invoke(channel);
        }));
    }

    protected static ScriptClient To(ChannelBase channel) => new(channel.CreateCallInvoker());
}
