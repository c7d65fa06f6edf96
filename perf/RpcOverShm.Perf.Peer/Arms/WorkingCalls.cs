using RpcOverShm.Segments;

namespace RpcOverShm.Perf.Peer.Arms;

/// <summary>The service of generated code, with a method that works for some time before it answers.</summary>
internal sealed class WorkingCalls : CallsService
{
    private static readonly GeneratedCalls s_generated = new();

    public override ServerServiceDefinition Bind() => Conformance.BindService(new WorkingService());

    public override Task<string> ServeByKestrelAsync(string place) =>
        GrpcDotnetTransport.StartServerAsync<WorkingService>(place);

    public override IEcho OpenEcho(ChannelBase channel) => s_generated.OpenEcho(channel);
}

/// <summary>
/// An echo that costs 30 µs of its thread's processor time, however often the thread is interrupted meanwhile.
/// </summary>
internal sealed class WorkingService : Conformance.ConformanceBase
{
    public const int Microseconds = 30;

    public override Task<Payload> Echo(Payload request, ServerCallContext context)
    {
        long end = LinuxNative.ReadClock(LinuxNative.ClockThreadCpuTime) + (Microseconds * 1000);
        while (LinuxNative.ReadClock(LinuxNative.ClockThreadCpuTime) < end)
        {
            // Reading the clock is the work.
        }

        return CheckedService.Form.EchoAsync(request);
    }
}
