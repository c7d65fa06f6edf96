namespace RpcOverShm.Perf.Recording;

/// <summary>The figures of one round of one arm.</summary>
/// <param name="MedianCallUs">The median call.</param>
/// <param name="P99Us">The 99th percentile of the calls.</param>
/// <param name="P999Us">The 99.9th percentile of the calls.</param>
/// <param name="MeanCallUs">The mean call.</param>
/// <param name="PerMessageUs">The time on the clock divided by its calls or messages.</param>
/// <param name="CpuUs">Processor time of all processes together, per call or message.</param>
/// <param name="ClientBytes">Managed bytes that the clients allocated, per call or message.</param>
/// <param name="ServerBytes">The same of the server.</param>
internal readonly record struct RoundFigures(
    double MedianCallUs,
    double P99Us,
    double P999Us,
    double MeanCallUs,
    double PerMessageUs,
    double CpuUs,
    double ClientBytes,
    double ServerBytes)
{
    public static RoundFigures Of(SliceResult slice)
    {
        LoadResult client = slice.Client;
        double calls = client.Measured;
        double served = Math.Max(1, slice.Server.Messages);
        return new RoundFigures(
            Microseconds(client.Times.ValueAt(0.5)),
            Microseconds(client.Times.ValueAt(0.99)),
            Microseconds(client.Times.ValueAt(0.999)),
            Microseconds(client.Times.Mean),
            Microseconds(client.ElapsedTicks / calls),
            (client.Used.CpuMicroseconds / calls) + (slice.Server.Used.CpuMicroseconds / served),
            client.Used.AllocatedBytes / calls,
            slice.Server.Used.AllocatedBytes / served);
    }

    public double Time(CellTime time) => time switch
    {
        CellTime.MedianCall => MedianCallUs,
        CellTime.MeanCall => MeanCallUs,
        _ => PerMessageUs,
    };

    public static double Microseconds(double ticks) => ticks * 1e6 / Stopwatch.Frequency;
}
