using System.Globalization;

namespace RpcOverShm.Tool.Output;

/// <summary>Latencies, which are counted in nanoseconds, as people and programs read them.</summary>
internal static class Latency
{
    /// <summary>Returns a text with three digits, such as "12.3 µs".</summary>
    public static string Text(double nanoseconds) => nanoseconds switch
    {
        < 1e3 => $"{Digits(nanoseconds)} ns",
        < 1e6 => $"{Digits(nanoseconds / 1e3)} µs",
        < 1e9 => $"{Digits(nanoseconds / 1e6)} ms",
        < 1e15 => $"{Digits(nanoseconds / 1e9)} s",
        _ => "∞",
    };

    /// <summary>Returns microseconds.</summary>
    public static double Microseconds(double nanoseconds) => Math.Round(nanoseconds / 1e3, 3);

    private static string Digits(double number) => number
        .ToString(number < 10 ? "0.##" : number < 100 ? "0.#" : "0", CultureInfo.InvariantCulture);
}
