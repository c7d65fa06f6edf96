namespace RpcOverShm.FunctionalTests.Callbacks;

/// <summary>The base of fixtures whose server calls its client back.</summary>
internal abstract class CallbackFixture() : RigFixture(RigKind.Shm)
{
    /// <summary>Starts a server with these methods, and opens a channel that offers those of a script.</summary>
    protected async Task<(ShmRig Rig, ShmChannel Channel)> StartAsync(
        Script server, Script callbacks, Action<ShmChannelOptions>? change = null, RigOptions? options = null)
    {
        ShmRig rig = await StartShmAsync(server, options);
        ShmChannel channel = rig.OpenChannel(one =>
        {
            one.Callbacks.Services.Add(callbacks.Build());
            change?.Invoke(one);
        });
        return (rig, channel);
    }

    /// <summary>A client of the services that the caller of a method offers.</summary>
    protected static ScriptClient Back(ServerCallContext context) =>
        new(context.GetShmSession().CreateCallInvoker());

    protected static ScriptClient To(ChannelBase channel) => new(channel.CreateCallInvoker());
}
