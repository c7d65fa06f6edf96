using System.Text;

namespace RpcOverShm.Explorer.Model;

/// <summary>
/// Visits all states of a scenario, breadth first, so that the schedule of a violation is a shortest one. In each state
/// every role may make its pending step, every store buffer may drain, and the faults of the scenario may happen.
/// </summary>
internal sealed class ScheduleSearch : IDisposable
{
    private readonly Scenario _scenario;
    private readonly bool _isWeak;
    private readonly long _bound;
    private readonly RoleRun _run;
    private readonly MemoryMap _map;
    private readonly HashSet<UInt128> _seen = [];
    private readonly Queue<State> _open = new();
    private long _transitions;
    private int _depth;
    private string? _violation;

    /// <param name="scenario">The scenario.</param>
    /// <param name="order">The order in which stores drain.</param>
    /// <param name="bound">The number of states after which the search stops.</param>
    public ScheduleSearch(Scenario scenario, StoreOrder order, long bound)
    {
        _scenario = scenario;
        _isWeak = order == StoreOrder.OutOfOrder;
        _bound = bound;
        _run = new RoleRun(scenario);
        _map = _run.Map;
    }

    public void Dispose() => _run.Dispose();

    public SearchResult Run()
    {
        Add(Begin());
        while (_violation is null && _seen.Count <= _bound && _open.TryDequeue(out State? state))
        {
            _depth = Math.Max(_depth, state.Trace?.Length ?? 0);
            long before = _transitions;
            Expand(state);
            if (_transitions == before)
            {
                CheckEnd(state);
            }
        }

        return new SearchResult(_seen.Count, _transitions, _depth, _violation, _open.Count == 0 || _violation != null);
    }

    // The preparation of each role in turn, with every store in memory at once.
    private State Begin()
    {
        var roles = new RoleState[_scenario.Roles.Length];
        Array.Fill(roles, RoleState.Initial);
        var state = new State(new long[_map.Size], roles, null)
        {
            SpuriousWakesLeft = _scenario.SpuriousWakes,
            PokesLeft = _scenario.Pokes,
        };
        for (int role = 0; role < roles.Length; role++)
        {
            state = state.With(role, _run.Run(_scenario.Roles[role], state.Roles[role]));
            while (state.Roles[role].Pending.Kind is not (OpKind.Ready or OpKind.Failed))
            {
                state = DrainAll(state, role);
                state = Step(state, role) ?? throw new InvalidOperationException("The preparation waits.");
            }

            state = DrainAll(state, role);
        }

        for (int role = 0; role < roles.Length; role++)
        {
            state = Resume(state, role, 0);
        }

        return state with { Trace = null };
    }

    private State DrainAll(State state, int role)
    {
        while (state.Roles[role].Buffer.Length > 0)
        {
            state = Drain(state, role, 0);
        }

        return state;
    }

    private void Expand(State state)
    {
        for (int role = 0; role < state.Roles.Length; role++)
        {
            if (IsDead(state, role))
            {
                continue;
            }

            Drains(state, role);
            RoleState me = state.Roles[role];
            if (me.IsAsleep)
            {
                if (state.SpuriousWakesLeft > 0)
                {
                    State awake = state with { SpuriousWakesLeft = state.SpuriousWakesLeft - 1 };
                    Visit(Resume(awake, role, 0), state, new Move(MoveKind.WakeSpuriously, role, -1, 0));
                }
            }
            else if (Step(state, role) is { } next)
            {
                long shown = next.Roles[role].Log?.Result ?? 0;
                Visit(next, state, new Move(MoveKind.Step, role, me.Pending.Location, shown, me.Pending.Kind));
                StaleStep(state, role);
            }
        }

        Faults(state);
    }

    private void Drains(State state, int role)
    {
        BufferedStore[] buffer = state.Roles[role].Buffer;
        for (int i = 0; i < buffer.Length; i++)
        {
            if (CanDrain(buffer, i))
            {
                Visit(
                    Drain(state, role, i),
                    state,
                    new Move(MoveKind.Drain, role, buffer[i].Location, buffer[i].Value));
            }
        }
    }

    private bool CanDrain(BufferedStore[] buffer, int index)
    {
        if (index == 0 || !_isWeak)
        {
            return index == 0;
        }

        BufferedStore store = buffer[index];
        if (store.IsRelease)
        {
            return false;
        }

        for (int i = 0; i < index; i++)
        {
            if (buffer[i].Location == store.Location)
            {
                return false;
            }
        }

        return true;
    }

    private static State Drain(State state, int role, int index)
    {
        RoleState me = state.Roles[role];
        BufferedStore store = me.Buffer[index];
        BufferedStore[] rest = [.. me.Buffer[..index], .. me.Buffer[(index + 1)..]];
        return state.With(role, me with { Buffer = rest }).With(store.Location, store.Value);
    }

    private void Faults(State state)
    {
        if (_scenario.Mortal >= 0 && state.Dead < 0)
        {
            Visit(Die(state), state, new Move(MoveKind.Die, _scenario.Mortal, -1, 0));
        }

        if (state.PokesLeft == 0)
        {
            return;
        }

        for (int location = 0; location < state.Memory.Length; location++)
        {
            foreach (long lie in _scenario.Lies!(location, state.Memory[location]))
            {
                State poked = state.With(location, lie) with { PokesLeft = state.PokesLeft - 1 };
                Visit(poked, state, new Move(MoveKind.Poke, -1, location, lie));
            }
        }
    }

    private State Die(State state)
    {
        var roles = (RoleState[])state.Roles.Clone();
        for (int i = 0; i < roles.Length; i++)
        {
            if (_scenario.Roles[i].Process == _scenario.Mortal)
            {
                roles[i] = RoleState.Initial with { Pending = new Op(OpKind.Done, Value: -1) };
            }
        }

        return state with { Roles = roles, Dead = _scenario.Mortal };
    }

    /// <summary>Makes the pending step of a role; returns null if it cannot be made now.</summary>
    private State? Step(State state, int role)
    {
        RoleState me = state.Roles[role];
        Op op = me.Pending;
        switch (op.Kind)
        {
            case OpKind.Read or OpKind.ReadPlain:
                return Resume(state, role, Load(state, me, op.Location), op.Kind == OpKind.ReadPlain);
            case OpKind.WriteFenced or OpKind.AddFenced or OpKind.SetIfZero:
                return me.Buffer.Length == 0 ? Change(state, role, op) : null;
            case OpKind.Sleep:
                return Sleep(state, role);
            case OpKind.Wake:
                return Resume(WakeAll(state, op.Location), role, 0);
            case OpKind.AwaitPeerEnd:
                int peer = 1 - _scenario.Roles[role].Process;
                bool isEnded = state.Dead == peer
                    || state.Memory[MemoryMap.Private(peer, MemoryMap.SocketClosed)] != 0;
                return isEnded ? Resume(state, role, 0) : null;
            default:
                return null;
        }
    }

    private State Change(State state, int role, Op op)
    {
        long old = state.Memory[op.Location];
        return op.Kind switch
        {
            OpKind.AddFenced => Resume(state.With(op.Location, old + op.Value), role, old + op.Value),
            OpKind.SetIfZero => Resume(old == 0 ? state.With(op.Location, op.Value) : state, role, old),
            _ => Resume(state.With(op.Location, op.Value), role, old),
        };
    }

    // A load that an earlier load does not order may have been made before that one.
    private void StaleStep(State state, int role)
    {
        RoleState me = state.Roles[role];
        if (me.Pending.Kind == OpKind.Read
            && me.Log is { IsPlain: true, Previous: { } earlier }
            && earlier.Memory[me.Pending.Location] != state.Memory[me.Pending.Location])
        {
            long stale = earlier.Memory[me.Pending.Location];
            var move = new Move(MoveKind.Step, role, me.Pending.Location, stale, OpKind.ReadPlain);
            Visit(Resume(state, role, stale), state, move);
        }
    }

    private static long Load(State state, RoleState me, int location)
    {
        for (int i = me.Buffer.Length - 1; i >= 0; i--)
        {
            if (me.Buffer[i].Location == location)
            {
                return me.Buffer[i].Value;
            }
        }

        return state.Memory[location];
    }

    private State Sleep(State state, int role)
    {
        RoleState me = state.Roles[role];
        int bell = 1 << me.Pending.Location;
        if (_scenario.HasBells ? (state.Bells & bell) == 0 : IsUnchanged(state, me.Pending))
        {
            return state.With(role, me with { IsAsleep = true });
        }

        return Resume(state with { Bells = state.Bells & ~bell }, role, -1);
    }

    private static bool IsUnchanged(State state, Op op) =>
        (uint)state.Memory[op.Location] == (uint)op.Value
        && (op.Other < 0 || (uint)state.Memory[op.Other] == (uint)op.OtherValue);

    private State WakeAll(State state, int location)
    {
        bool isAny = false;
        for (int role = 0; role < state.Roles.Length; role++)
        {
            RoleState sleeper = state.Roles[role];
            if (sleeper.IsAsleep && (sleeper.Pending.Location == location || sleeper.Pending.Other == location))
            {
                state = Resume(state, role, 0);
                isAny = true;
            }
        }

        return isAny || !_scenario.HasBells ? state : state with { Bells = state.Bells | (1 << location) };
    }

    /// <summary>Gives a role the result of its pending step and runs it to the next one.</summary>
    private State Resume(State state, int role, long result, bool isPlain = false)
    {
        RoleState me = state.Roles[role];
        ulong fingerprint = Hash.Combine(me.Fingerprint, result);
        if (_scenario.HasRawReads && MemoryMap.IsData(me.Pending.Location))
        {
            fingerprint = DataHash(state, 1 - _scenario.Roles[role].Process, fingerprint);
        }

        RoleState next = me with
        {
            Log = new LogEntry(me.Log, result, state.Memory, isPlain),
            Fingerprint = fingerprint,
            IsAsleep = false,
        };
        return state.With(role, _run.Run(_scenario.Roles[role], next));
    }

    private ulong DataHash(State state, int segment, ulong hash)
    {
        for (int i = 0; i < _map.Pieces; i++)
        {
            hash = Hash.Combine(hash, state.Memory[_map.Data(segment, i)]);
        }

        return hash;
    }

    private bool IsDead(State state, int role) => _scenario.Roles[role].Process == state.Dead;

    private void Visit(State next, State from, Move move)
    {
        _transitions++;
        Add(next with { Trace = new Trace(from.Trace, move) });
    }

    private void Add(State state)
    {
        if (_violation is not null || !_seen.Add(state.Hash()))
        {
            return;
        }

        for (int role = 0; role < state.Roles.Length; role++)
        {
            if (state.Roles[role].Failure is { } failure && !IsDead(state, role))
            {
                _violation = ScheduleText.Describe(_scenario, state, $"{_scenario.Roles[role].Name}: {failure}");
                return;
            }
        }

        _open.Enqueue(state);
    }

    private void CheckEnd(State state)
    {
        var asleep = new StringBuilder();
        for (int role = 0; role < state.Roles.Length; role++)
        {
            RoleState me = state.Roles[role];
            if (!_scenario.MaySleep && !IsDead(state, role) && !me.IsOver && me.Pending.Kind != OpKind.AwaitPeerEnd)
            {
                asleep.Append(_scenario.Roles[role].Name)
                    .Append(me.IsAsleep ? " sleeps for ever; " : " waits for ever; ");
            }
        }

        string? problem = asleep.Length > 0 ? $"{asleep}nothing can wake it." : _scenario.AtEnd(new FinalState(state));
        if (problem is not null)
        {
            _violation = ScheduleText.Describe(_scenario, state, problem);
        }
    }
}

/// <summary>The result of a search.</summary>
/// <param name="States">The number of different states.</param>
/// <param name="Transitions">The number of moves between them.</param>
/// <param name="Depth">The length of the longest of the shortest schedules that reach a state.</param>
/// <param name="Violation">The broken rule and a shortest schedule that breaks it; null if none.</param>
/// <param name="IsComplete">Whether every state was visited, or a violation found, within the bound.</param>
internal sealed record SearchResult(long States, long Transitions, int Depth, string? Violation, bool IsComplete);
