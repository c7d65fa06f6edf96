using System.Text;

namespace RpcOverShm.Explorer.Model;

/// <summary>The text of a violation and of the schedule that leads to it.</summary>
internal static class ScheduleText
{
    public static string Describe(Scenario scenario, State state, string problem)
    {
        var text = new StringBuilder(problem).AppendLine().AppendLine("The schedule:");
        var map = new MemoryMap(scenario.Capacity);
        var moves = new Stack<Move>();
        for (Trace? trace = state.Trace; trace is not null; trace = trace.Previous)
        {
            moves.Push(trace.Move);
        }

        foreach (Move move in moves)
        {
            text.Append("  ").AppendLine(Describe(scenario, map, move));
        }

        return text.ToString();
    }

    private static string Describe(Scenario scenario, MemoryMap map, Move move)
    {
        string place = move.Location < 0 ? "" : map.NameOf(move.Location);
        return move.Kind switch
        {
            MoveKind.Drain => $"{scenario.Roles[move.Actor].Name}: {place} = {move.Value} reaches memory",
            MoveKind.Die => $"process {"AB"[move.Actor]} dies",
            MoveKind.WakeSpuriously => $"{scenario.Roles[move.Actor].Name} wakes without a reason",
            MoveKind.Poke => $"the hostile side stores {place} = {move.Value}",
            _ => $"{scenario.Roles[move.Actor].Name}: {move.Step} {place} -> {move.Value}",
        };
    }
}

