namespace RpcOverShm.Perf.Recording;

/// <summary>
/// Makes the rows of a measured cell. The baseline is the faster form of the pipe, for every kind of caller: each kind
/// has a row for it, and one for its twin; the slower form has a row of its own.
/// </summary>
internal sealed class CellRows(CellRecorder cell)
{
    private readonly CellPlan _plan = cell.Plan;
    private readonly Entrant? _baseline = Form(cell, Fleet.Baseline, null);

    /// <summary>The interval of the baseline's twin against the baseline; null if one of them failed.</summary>
    public Noise? Noise
    {
        get
        {
            if (_baseline is null || Twin is not { } twin)
            {
                return null;
            }

            var ratio = Ratio.Of(twin.Times, _baseline.Times);
            return new Noise(Format.Rounded(ratio.Low), Format.Rounded(ratio.High));
        }
    }

    private Entrant? Twin => Form(cell, Fleet.BaselineAgain, _baseline?.Caller);

    /// <summary>Makes the rows, in the order of the arms. Returns none if the baseline failed.</summary>
    public List<MeasuredRow> Make()
    {
        var rows = new List<MeasuredRow>();
        if (_baseline is null)
        {
            return rows;
        }

        Entrant? again = Twin;
        foreach (Entrant entrant in cell.Entrants.Where(entrant => entrant.Failure is null))
        {
            switch (entrant.Label)
            {
                case Fleet.Baseline:
                    rows.Add(RowOf(entrant.Label, entrant.Caller, _baseline));
                    if (entrant != _baseline)
                    {
                        string form = entrant.Caller == CallerKind.Blocking ? "pipe-sync" : "pipe-async";
                        rows.Add(RowOf(form, entrant.Caller, entrant));
                    }

                    break;
                case Fleet.BaselineAgain when again is not null:
                    rows.Add(RowOf(entrant.Label, entrant.Caller, again));
                    break;
                case Fleet.BaselineAgain:
                    break;
                default:
                    rows.Add(RowOf(entrant.Label, entrant.Caller, entrant));
                    break;
            }
        }

        return rows;
    }

    /// <summary>
    /// Returns the arm as measured with a kind of caller, or in its faster form; the baseline always in its faster
    /// form. Null if it failed or is not in the cell.
    /// </summary>
    public Entrant? Find(string label, CallerKind? caller) =>
        label == Fleet.Baseline ? _baseline : Form(cell, label, caller);

    // Of the measured forms of an arm, that of the caller; or the fastest if the caller does not matter.
    private static Entrant? Form(CellRecorder cell, string label, CallerKind? caller) => cell.Entrants
        .Where(entrant => entrant.Label == label && entrant.Failure is null && entrant.Figures.Count > 0)
        .Where(entrant => caller is null || entrant.Caller == caller)
        .MinBy(entrant => entrant.MedianTime);

    private MeasuredRow RowOf(string label, CallerKind caller, Entrant entrant)
    {
        var ratio = Ratio.Of(entrant.Times, _baseline!.Times);
        double calls = entrant.Histogram.Count;
        double served = Math.Max(1, entrant.ServerMessages);
        double clientSwitches = entrant.ClientUsed.VoluntarySwitches / calls;
        double serverSwitches = entrant.ServerUsed.VoluntarySwitches / served;
        return new MeasuredRow
        {
            Row = ReportRowOf(label, caller, entrant, ratio),
            Cell = _plan.Name,
            Form = entrant.Caller,
            RoundsWon = ratio.Won,
            Rounds = ratio.Rounds,
            SwitchesPerCall = clientSwitches + serverSwitches,
            CompiledMethods = entrant.ClientUsed.CompiledMethods + entrant.ServerUsed.CompiledMethods,
        };
    }

    private ReportRow ReportRowOf(string label, CallerKind caller, Entrant entrant, Ratio ratio)
    {
        double calls = entrant.Histogram.Count;
        double served = Math.Max(1, entrant.ServerMessages);
        double perSecond = entrant.PerSecond;
        double cpu = (entrant.ClientUsed.CpuMicroseconds / calls) + (entrant.ServerUsed.CpuMicroseconds / served);
        return new ReportRow
        {
            Scenario = _plan.Scenario,
            Arm = label,
            Caller = caller,
            Callers = _plan.Order.Callers,
            SizeBytes = RequestBytes,
            P50Us = Percentile(entrant, 0.5),
            P99Us = Percentile(entrant, 0.99),
            MeanUs = Format.Rounded(RoundFigures.Microseconds(entrant.Histogram.Mean)),
            PerSecond = Format.Rounded(perSecond),
            MegabytesPerSecond = Format.Rounded(perSecond * Math.Max(RequestBytes, ReplyBytes) / 1e6),
            CpuUsPerCall = Format.Rounded(cpu),
            AllocatedBytesPerCallClient = Format.Rounded(entrant.ClientUsed.AllocatedBytes / calls),
            AllocatedBytesPerCallServer = Format.Rounded(entrant.ServerUsed.AllocatedBytes / served),
            BaselineArm = Fleet.Baseline,
            Ratio = Format.Rounded(ratio.Median),
            RatioLow = Format.Rounded(ratio.Low),
            RatioHigh = Format.Rounded(ratio.High),
            Variant = _plan.Variant,
            ReplyBytes = ReplyBytes,
            Clients = _plan.Clients,
            P90Us = Percentile(entrant, 0.9),
            P999Us = Percentile(entrant, 0.999),
            MaxUs = Format.Rounded(RoundFigures.Microseconds(entrant.Histogram.Max)),
            Schedule = ScheduleOf(entrant),
        };
    }

    private int RequestBytes => _plan.Order.SizeBytes == LoadOrder.Mixed
        ? (int)ExchangeMix.MeanRequestBytes
        : _plan.Order.SizeBytes;

    private int ReplyBytes => _plan.Order.SizeBytes == LoadOrder.Mixed
        ? (int)ExchangeMix.MeanReplyBytes
        : new ExchangeSize(_plan.Order.SizeBytes, _plan.Order.ReplyBytes).ReplyExpected;

    private ReportSchedule? ScheduleOf(Entrant entrant) => _plan.OfferedPerSecond == 0
        ? null
        : new ReportSchedule(
            _plan.OfferedPerSecond,
            entrant.HasMissedRate,
            Format.Rounded(RoundFigures.Microseconds(entrant.Uncorrected.ValueAt(0.5))),
            Format.Rounded(RoundFigures.Microseconds(entrant.Uncorrected.ValueAt(0.99))));

    private static double Percentile(Entrant entrant, double share) =>
        Format.Rounded(RoundFigures.Microseconds(entrant.Histogram.ValueAt(share)));
}
