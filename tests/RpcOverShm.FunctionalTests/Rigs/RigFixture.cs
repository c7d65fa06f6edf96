namespace RpcOverShm.FunctionalTests.Rigs;

/// <summary>The base of fixtures that make calls: disposes the rigs after the test and checks their logs.</summary>
internal abstract class RigFixture(RigKind kind)
{
    private readonly List<CallRig> _rigs = [];

    protected RigKind Kind { get; } = kind;

    protected bool IsShm => Kind == RigKind.Shm;

    /// <summary>Whether the rig behaves like grpc-dotnet, as this library does, or else like Grpc.Core.</summary>
    protected bool IsDotNet => Kind != RigKind.GrpcCore;

    protected bool IsGrpcDotNet => Kind == RigKind.GrpcDotNet;

    /// <summary>
    /// Message sizes for one stream. The C core of Grpc.Core 2.46.5 aborts the process ("sb->count > 0" in
    /// slice_buffer.cc) when an empty message follows one that waits for the window, so its list contains no zero.
    /// </summary>
    protected int[] MixedSizes => IsDotNet
        ? [0, 1, 16, 1000, 16 << 10, (16 << 10) + 1, 100_000, 3, 1 << 20, 0, 7]
        : [1, 16, 1000, 16 << 10, (16 << 10) + 1, 100_000, 3, 1 << 20, 7];

    [TearDown]
    public async Task DisposeRigsAsync()
    {
        CallRig[] rigs = [.. _rigs];
        _rigs.Clear();
        foreach (CallRig rig in rigs)
        {
            await rig.DisposeAsync();
        }
    }

    protected Task<CallRig> StartAsync(Script script, RigOptions? options = null) =>
        StartAsync(options, script.Build());

    protected async Task<CallRig> StartAsync(RigOptions? options, params ServerServiceDefinition[] services) =>
        Keep(await CallRig.StartAsync(Kind, options, services));

    /// <summary>Starts a rig of shared memory, which exposes the members specific to it.</summary>
    protected Task<ShmRig> StartShmAsync(Script script, RigOptions? options = null) =>
        StartShmAsync(options, script.Build());

    protected async Task<ShmRig> StartShmAsync(RigOptions? options, params ServerServiceDefinition[] services) =>
        Keep((ShmRig)await CallRig.StartAsync(RigKind.Shm, options, services));

    /// <summary>Starts a rig of shared memory whose server has stopped.</summary>
    protected async Task<ShmRig> StartWithoutServerAsync(RigOptions? options = null)
    {
        ShmRig rig = await StartShmAsync(new Script(), options);
        await rig.Server.StopAsync(TimeSpan.Zero).Bounded();
        return rig;
    }

    /// <inheritdoc cref="Script.Everywhere"/>
    protected static Script Everywhere(Func<ServerCallContext, Task> act) => Script.Everywhere(act);

    protected static Task<RpcException> FailureOf(Task call) => CallFailure.OfAsync(call);

    protected static Task<RpcException> FailureOf(AsyncUnaryCall<Testing.Protos.Payload> call) =>
        CallFailure.OfAsync(call.ResponseAsync);

    private TRig Keep<TRig>(TRig rig)
        where TRig : CallRig
    {
        _rigs.Add(rig);
        return rig;
    }
}
