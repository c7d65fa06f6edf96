using System.Diagnostics;
using RpcOverShm.Perf.Peer.Loads;
using RpcOverShm.Perf.Peers;
using RpcOverShm.Perf.Report;

namespace RpcOverShm.Perf.Recording;

/// <summary>
/// Makes the rows of a measured cell. The baseline is the faster form of the pipe, for every kind of caller: under each
/// kind there is a row for it, and one for its twin; the slower form has a row of its own.
/// </summary>
internal sealed class CellRows(string scenario, int sizeBytes, CellRecorder cell)
{
    private readonly Entrant? _baseline = Form(cell, Fleet.Baseline, null);

    /// <summary>The rows, in the order of the arms. None when the baseline failed.</summary>
    public List<MeasuredRow> Make()
    {
        var rows = new List<MeasuredRow>();
        if (_baseline is null)
        {
            return rows;
        }

        Entrant? again = Form(cell, Fleet.BaselineAgain, _baseline.Caller);
        foreach (Entrant entrant in cell.Entrants.Where(entrant => entrant.Failure is null))
        {
            switch (entrant.Pair.Label)
            {
                case Fleet.Baseline:
                    rows.Add(RowOf(entrant.Pair.Label, entrant.Caller, _baseline));
                    if (entrant != _baseline)
                    {
                        string form = entrant.Caller == CallerKind.Blocking ? "pipe-sync" : "pipe-async";
                        rows.Add(RowOf(form, entrant.Caller, entrant));
                    }

                    break;
                case Fleet.BaselineAgain when again is not null:
                    rows.Add(RowOf(entrant.Pair.Label, entrant.Caller, again));
                    break;
                case Fleet.BaselineAgain:
                    break;
                default:
                    rows.Add(RowOf(entrant.Pair.Label, entrant.Caller, entrant));
                    break;
            }
        }

        return rows;
    }

    /// <summary>
    /// How an arm compares with another one at the same kind of caller; null when one of them failed.
    /// </summary>
    public Ratio? Compare(string label, string other, CallerKind caller)
    {
        Entrant? one = Form(cell, label, caller);
        Entrant? against = other == Fleet.Baseline ? _baseline : Form(cell, other, caller);
        return one is null || against is null ? null : Ratio.Of(one.Times, against.Times);
    }

    // Of the forms of an arm that were measured, that of the caller; or the fastest, when any will do.
    private static Entrant? Form(CellRecorder cell, string label, CallerKind? caller) => cell.Entrants
        .Where(entrant => entrant.Pair.Label == label && entrant.Failure is null && entrant.Times.Count > 0)
        .Where(entrant => caller is null || entrant.Caller == caller)
        .MinBy(entrant => entrant.MedianTime);

    private MeasuredRow RowOf(string label, CallerKind caller, Entrant entrant)
    {
        Ratio ratio = Ratio.Of(entrant.Times, _baseline!.Times);
        long calls = entrant.Histogram.Count;
        double perSecond = calls * (double)Stopwatch.Frequency / entrant.ElapsedTicks;
        double served = entrant.ServerMessages;
        double clientSwitches = (double)entrant.ClientUsed.VoluntarySwitches / calls;
        double serverSwitches = entrant.ServerUsed.VoluntarySwitches / served;
        double clientCpu = (double)entrant.ClientUsed.CpuMicroseconds / calls;
        double serverCpu = entrant.ServerUsed.CpuMicroseconds / served;
        return new MeasuredRow
        {
            Row = new ReportRow
            {
                Scenario = scenario,
                Arm = label,
                Caller = caller,
                Callers = 1,
                SizeBytes = sizeBytes,
                P50Us = Rounded(Entrant.Microseconds(entrant.Histogram.ValueAt(0.5))),
                P99Us = Rounded(Entrant.Microseconds(entrant.Histogram.ValueAt(0.99))),
                MeanUs = Rounded(Entrant.Microseconds(entrant.Histogram.Mean)),
                PerSecond = Rounded(perSecond),
                MegabytesPerSecond = Rounded(perSecond * sizeBytes / 1e6),
                CpuUsPerCall = Rounded(clientCpu + serverCpu),
                AllocatedBytesPerCallClient = Rounded((double)entrant.ClientUsed.AllocatedBytes / calls),
                AllocatedBytesPerCallServer = Rounded(entrant.ServerUsed.AllocatedBytes / served),
                BaselineArm = Fleet.Baseline,
                Ratio = Rounded(ratio.Median),
                RatioLow = Rounded(ratio.Low),
                RatioHigh = Rounded(ratio.High),
            },
            Form = entrant.Caller,
            RoundsWon = ratio.Won,
            Rounds = ratio.Rounds,
            SwitchesPerCall = clientSwitches + serverSwitches,
            CompiledMethods = entrant.ClientUsed.CompiledMethods + entrant.ServerUsed.CompiledMethods,
        };
    }

    // Four digits of what is small and tenths of what is large say more than a measurement on a shared machine knows.
    private static double Rounded(double value) =>
        value == 0 ? 0 : Math.Round(value, Math.Clamp(3 - (int)Math.Floor(Math.Log10(Math.Abs(value))), 1, 9));
}
