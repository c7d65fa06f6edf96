namespace RpcOverShm.Perf.Peer.Arms;

/// <summary>
/// The product: <see cref="ShmChannel"/> and <see cref="ShmServer"/> with their default options, but for messages of
/// any size.
/// </summary>
internal sealed class ShmProtobufArm : CallsArm
{
    public override string Name => "shm-protobuf";

    public override bool Supports(LoadShape shape, CallerKind caller) =>
        base.Supports(shape, caller) || (shape == LoadShape.Batch && caller == CallerKind.Async);

    /// <summary>Starts a server; it lives as long as the process.</summary>
    public static async Task<string> StartServerAsync(
        ServerServiceDefinition service, string place, bool parsesInPlace = false)
    {
        var server = new ShmServer(
            "shm://" + place,
            new ShmServerOptions { MaxReceiveMessageSize = null, AllowInPlaceParsing = parsesInPlace });
        server.Services.Add(service);
        await server.StartAsync();
        return server.Address;
    }

    public static ShmChannel OpenChannel(string place, bool parsesInPlace = false) =>
        ShmChannel.ForAddress(
            place, new ShmChannelOptions { MaxReceiveMessageSize = null, AllowInPlaceParsing = parsesInPlace });

    public override Task<string> ServeAsync(string place) => StartServerAsync(Bind(), place);

    protected override ChannelBase MakeChannel(string place) => OpenChannel(place);
}

/// <summary>
/// The same as <see cref="ShmProtobufArm"/>, but messages of one record are parsed where the other side wrote them.
/// </summary>
internal sealed class ShmInPlaceArm : CallsArm
{
    public override string Name => "shm-protobuf-in-place";

    public override Task<string> ServeAsync(string place) =>
        ShmProtobufArm.StartServerAsync(Bind(), place, parsesInPlace: true);

    protected override ChannelBase MakeChannel(string place) => ShmProtobufArm.OpenChannel(place, parsesInPlace: true);
}

/// <summary>The product with marshallers that hand arrays of bytes through: calls without a serialiser.</summary>
internal sealed class ShmRawArm : IArm
{
    public string Name => "shm-raw";

    public bool Supports(LoadShape shape, CallerKind caller) =>
        shape == LoadShape.Echo || (caller == CallerKind.Async && shape != LoadShape.Batch);

    public Task<string> ServeAsync(string place) => ShmProtobufArm.StartServerAsync(RawCalls.Bind(), place);

    public IArmClient MakeClient(string place) => new RawCallsClient(ShmProtobufArm.OpenChannel(place));
}
