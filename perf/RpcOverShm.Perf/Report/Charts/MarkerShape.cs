namespace RpcOverShm.Perf.Report.Charts;

/// <summary>What stands at a point of a line.</summary>
internal enum MarkerShape
{
    Circle,
    Square,
    Triangle,
    Diamond,
    Cross,
    Plus,
}
