namespace RpcOverShm.Perf.Recording;

/// <summary>
/// One cell: a load that several arms carry, measured in the same rounds. Rows of different cells are not compared.
/// </summary>
/// <param name="Scenario">The name in the tables.</param>
/// <param name="Order">The load; caller and duration are filled in for each arm.</param>
internal sealed record CellPlan(string Scenario, LoadOrder Order)
{
    /// <summary>Distinguishes cells of the same size; empty for the plain one.</summary>
    public string Variant { get; init; } = "";

    /// <summary>The arms, by their labels in the fleet.</summary>
    public IReadOnlyList<string> Arms { get; init; } = ArmSets.Usual;

    /// <summary>The kinds of caller; an arm that has none of them is measured in the one it has.</summary>
    public IReadOnlyList<CallerKind> Callers { get; init; } = [CallerKind.Blocking, CallerKind.Async];

    public CellTime Time { get; init; } = CellTime.MedianCall;

    /// <summary>Client processes that load one server at the same time.</summary>
    public int Clients { get; init; } = 1;

    /// <summary>Processes beside those of the arms that keep a processor busy while the cell is measured.</summary>
    public int Spinning { get; init; }

    /// <summary>Above 0: calls on a schedule, so many a second.</summary>
    public long OfferedPerSecond { get; init; }

    /// <summary>Above 0: the calls of a batch, which is measured beside the callers.</summary>
    public int BatchCalls { get; init; }

    /// <summary>The share of a row's seconds that this cell takes.</summary>
    public double Weight { get; init; } = 1;

    /// <summary>The least length of a slice, independent of the seconds of a row.</summary>
    public TimeSpan ShortestSlice { get; init; }

    /// <summary>
    /// Above 0: the bytes that each row sends in all its rounds, or what its arm carries in twenty seconds, if that is
    /// less.
    /// </summary>
    public long VolumeBytes { get; init; }

    /// <summary>The largest message, either way.</summary>
    public int LargestBytes => Order.SizeBytes == LoadOrder.Mixed
        ? ExchangeMix.LargestBytes
        : Math.Max(Order.SizeBytes, Order.ReplyBytes);

    /// <summary>The name of the cell within its scenario, and of its test.</summary>
    public string Name
    {
        get
        {
            string size = Order.SizeBytes == LoadOrder.Mixed ? "mixed sizes" : Format.Size(Order.SizeBytes);
            string reply = Order.ReplyBytes == LoadOrder.SameAsRequest ? "" : $" to {Format.Size(Order.ReplyBytes)}";
            string callers = Order.Callers == 1 ? "" : $", {Order.Callers} callers";
            string clients = Clients == 1 ? "" : $", {Clients} clients";
            return size + reply + callers + clients + (Variant.Length == 0 ? "" : ", " + Variant);
        }
    }

    /// <summary>Cells of one load at several sizes.</summary>
    public static IEnumerable<CellPlan> Sizes(string scenario, LoadShape shape, params int[] sizes) =>
        sizes.Select(size => new CellPlan(scenario, new LoadOrder(shape, CallerKind.Blocking, size)));
}
