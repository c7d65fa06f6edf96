namespace RpcOverShm.Explorer.Model;

/// <summary>One state of the search. Immutable, so that states share the parts that a step does not change.</summary>
internal sealed record State(long[] Memory, RoleState[] Roles, Trace? Trace)
{
    /// <summary>The process that has died; -1 if none.</summary>
    public int Dead { get; init; } = -1;

    public int SpuriousWakesLeft { get; init; }

    /// <summary>The words, one bit each, whose wake-up came while nobody slept on them.</summary>
    public int Bells { get; init; }

    public int PokesLeft { get; init; }

    /// <summary>Returns a copy with another state of one role.</summary>
    public State With(int role, RoleState changed)
    {
        var roles = (RoleState[])Roles.Clone();
        roles[role] = changed;
        return this with { Roles = roles };
    }

    /// <summary>Returns a copy with another value at one location.</summary>
    public State With(int location, long value)
    {
        if (Memory[location] == value)
        {
            return this;
        }

        long[] memory = (long[])Memory.Clone();
        memory[location] = value;
        return this with { Memory = memory };
    }

    public UInt128 Hash()
    {
        var hash = new Hash();
        foreach (long value in Memory)
        {
            hash.Add(value);
        }

        hash.Add((Dead * 10000) + (SpuriousWakesLeft * 100) + PokesLeft);
        hash.Add(Bells);
        foreach (RoleState role in Roles)
        {
            hash.Add((long)role.Fingerprint);
            hash.Add(((int)role.Pending.Kind * 2) + (role.IsAsleep ? 1 : 0));
            hash.Add(role.Pending.Location + ((long)role.Pending.Other << 32));
            hash.Add(role.Pending.Value);
            hash.Add(role.Pending.OtherValue);
            hash.Add(role.Buffer.Length);
            foreach (BufferedStore store in role.Buffer)
            {
                hash.Add((store.Location * 2) + (store.IsRelease ? 1 : 0));
                hash.Add(store.Value);
            }
        }

        return hash.Value;
    }
}

/// <summary>The moves that led to a state, the last one first.</summary>
internal sealed record Trace(Trace? Previous, Move Move)
{
    public int Length { get; } = 1 + (Previous?.Length ?? 0);
}

/// <summary>One move of a schedule.</summary>
internal readonly record struct Move(MoveKind Kind, int Actor, int Location, long Value, OpKind Step = default);

internal enum MoveKind
{
    /// <summary>A role makes its pending step.</summary>
    Step,

    /// <summary>A store of a role's buffer reaches memory.</summary>
    Drain,

    /// <summary>A process dies; the stores in its buffers are lost.</summary>
    Die,

    /// <summary>A sleep ends without a reason.</summary>
    WakeSpuriously,

    /// <summary>The hostile side changes a word.</summary>
    Poke,
}
