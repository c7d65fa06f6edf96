namespace RpcOverShm.Perf.Report;

/// <summary>Numbers as people read them.</summary>
internal static class Format
{
    public static string Size(int bytes) => bytes switch
    {
        >= 1 << 20 when bytes % (1 << 20) == 0 => $"{bytes >> 20} MiB",
        >= 1 << 10 when bytes % (1 << 10) == 0 => $"{bytes >> 10} KiB",
        >= 1_000_000 when bytes % 1_000_000 == 0 => $"{bytes / 1_000_000} MB",
        >= 1_000 when bytes % 1_000 == 0 => $"{bytes / 1_000} KB",
        _ => $"{bytes} B",
    };

    /// <summary>Three digits: 0.457, 4.57, 45.7, 457, 4,570.</summary>
    public static string Number(double value) => value switch
    {
        0 => "0",
        < 10 and > -10 => value.ToString("0.00#", CultureInfo.InvariantCulture),
        < 100 and > -100 => value.ToString("0.0", CultureInfo.InvariantCulture),
        _ => value.ToString("#,0", CultureInfo.InvariantCulture),
    };

    /// <summary>The same with thousands and millions as letters, for axes: 0.1, 10, 1k, 1M.</summary>
    public static string Short(double value) => value switch
    {
        >= 1e9 => (value / 1e9).ToString("0.#", CultureInfo.InvariantCulture) + "G",
        >= 1e6 => (value / 1e6).ToString("0.#", CultureInfo.InvariantCulture) + "M",
        >= 1e3 => (value / 1e3).ToString("0.#", CultureInfo.InvariantCulture) + "k",
        _ => value.ToString("0.####", CultureInfo.InvariantCulture),
    };

    public static string Invariant(FormattableString text) => text.ToString(CultureInfo.InvariantCulture);

    /// <summary>
    /// Rounds small numbers to four digits and large ones to tenths: more precise than a measurement on a shared
    /// machine.
    /// </summary>
    public static double Rounded(double value) =>
        value == 0 ? 0 : Math.Round(value, Math.Clamp(3 - (int)Math.Floor(Math.Log10(Math.Abs(value))), 1, 9));
}
