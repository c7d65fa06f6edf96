namespace RpcOverShm.Perf.Peer.Records;

/// <summary>The product with records, in one of its serialisers.</summary>
internal sealed class ShmRecordArm(RecordFormat format) : IArm
{
    public string Name => $"shm-{format.Name}-record";

    public bool Supports(LoadShape shape, CallerKind caller) => shape == LoadShape.Echo;

    public async Task<string> ServeAsync(string place)
    {
        var options = new ShmServerOptions { MaxReceiveMessageSize = null };
        if (format.Codec is { } codec)
        {
            options.Codecs.Add(codec);
        }

        var server = new ShmServer("shm://" + place, options);
        server.Services.Add(Testing.Protos.Records.BindService(new RecordService()));
        await server.StartAsync();
        return server.Address;
    }

    public IArmClient MakeClient(string place)
    {
        var options = new ShmChannelOptions { MaxReceiveMessageSize = null, Codec = format.Codec };
        return new CallsRecordsClient(ShmChannel.ForAddress(place, options).CreateCallInvoker());
    }
}
