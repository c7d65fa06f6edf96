namespace RpcOverShm.Perf.Report.Charts;

/// <summary>
/// The drawing style of an arm, the same in every chart. No two have the same dashes and marker, so that they differ on
/// paper without colours. The product is drawn thick.
/// </summary>
/// <param name="Colour">A CSS colour that is readable on a light page and on a dark one.</param>
/// <param name="Dashes">An SVG dash array; empty for a whole line.</param>
/// <param name="Marker">The path of the marker at each point, around 0.</param>
/// <param name="IsFilled">False for a hollow marker.</param>
/// <param name="Width">Of the line, in pixels.</param>
internal sealed record SeriesStyle(string Colour, string Dashes, string Marker, bool IsFilled, double Width)
{
    private const string Circle = "M-3.6 0A3.6 3.6 0 1 0 3.6 0A3.6 3.6 0 1 0 -3.6 0Z";
    private const string Square = "M-3.6 -3.6H3.6V3.6H-3.6Z";
    private const string Triangle = "M0 -4.6L4.6 3.6H-4.6Z";
    private const string Diamond = "M0 -4.6L4.6 0L0 4.6L-4.6 0Z";
    private const string Cross = "M-3.6 -3.6L3.6 3.6M3.6 -3.6L-3.6 3.6";
    private const string Plus = "M-3.6 0H3.6M0 -3.6V3.6";
    private const double Thick = 2.6;
    private const double Thin = 1.4;

    private static readonly Dictionary<string, SeriesStyle> s_arms = new()
    {
        ["memcpy"] = new("#777", "1 3", Plus, true, Thin),
        ["cache-line"] = new("#777", "1 3", Plus, true, Thin),
        ["raw-ring"] = new("#0a5", "7 3", Circle, false, Thick),
        ["raw-stream"] = new("#094", "3 3", Square, false, Thick),
        ["shm-raw"] = new("#27d", "9 3 2 3", Circle, true, Thick),
        ["shm-payload"] = new("#27d", "2 2 6 2", Circle, false, Thin),
        ["shm-loan"] = new("#27d", "1 5", Square, true, Thick),
        ["shm-protobuf-record"] = new("currentColor", "12 2", Square, false, Thick),
        ["shm-msgpack-record"] = new("#c62", "2 4", Circle, true, Thick),
        ["pipe-protobuf-record"] = new("#c40", "1 4", Triangle, true, Thin),
        ["pipe-msgpack-record"] = new("#c40", "9 5", Triangle, false, Thin),
        ["uds-protobuf-record"] = new("#c3a", "1 2", Diamond, true, Thin),
        ["uds-msgpack-record"] = new("#c3a", "12 3", Diamond, false, Thin),
        ["shm-protobuf"] = new("currentColor", "", Square, true, Thick),
        ["pipe"] = new("#c40", "", Triangle, false, Thin),
        ["pipe-protobuf"] = new("#c40", "5 2", Triangle, true, Thin),
        ["uds"] = new("#c3a", "6 4", Diamond, false, Thin),
        ["tcp"] = new("#870", "2 2", Cross, true, Thin),
        ["fifo"] = new("#28a", "8 2 2 2", Diamond, true, Thin),
        ["grpc-dotnet-uds"] = new("#099", "", Triangle, true, Thin),
        ["streamjsonrpc-uds"] = new("#960", "3 5", Diamond, true, Thin),
        ["grpc-core-uds"] = new("#a44fe0", "10 4", Triangle, true, Thin),
    };

    private static readonly SeriesStyle s_other = new("#777", "4 4", Plus, true, Thin);

    public static SeriesStyle Of(string arm) => s_arms.GetValueOrDefault(arm, s_other);
}
