namespace RpcOverShm.Testing;

/// <summary>
/// Runs two short pieces of code at the same moment, many times, and counts how often each of them saw the other. The
/// threads synchronize before each round by spinning. A few steps of delay, different for each round, shift one against
/// the other.
/// </summary>
public sealed class TwoThreadRace(int rounds)
{
    private const int SpinsBeforeYield = 2000;

    private int _arrivedLeft;
    private int _arrivedRight;
    private bool _leftSaw;
    private bool _rightSaw;
    private volatile bool _isBroken;

    /// <summary>Runs alone before each round.</summary>
    public required Action Prepare { get; init; }

    /// <summary>Returns whether the left side saw the right one.</summary>
    public required Func<bool> Left { get; init; }

    /// <summary>Returns whether the right side saw the left one.</summary>
    public required Func<bool> Right { get; init; }

    public int BothSaw { get; private set; }

    public int OnlyLeftSaw { get; private set; }

    public int OnlyRightSaw { get; private set; }

    public int NeitherSaw { get; private set; }

    public void Run()
    {
        TestThread right = TestThread.Start("race", () => EndBothWith(RunRight));
        EndBothWith(RunLeft);
        right.Join();
    }

    public override string ToString() =>
        $"{rounds} rounds: both saw {BothSaw}, only left {OnlyLeftSaw}, only right {OnlyRightSaw}, "
        + $"neither {NeitherSaw}";

    private void EndBothWith(Action side)
    {
        try
        {
            side();
        }
        catch
        {
            // Ends the wait of the other thread.
            _isBroken = true;
            throw;
        }
    }

    private void RunLeft()
    {
        for (int round = 1; round <= rounds && !_isBroken; round++)
        {
            Prepare();
            Volatile.Write(ref _arrivedLeft, round);

            // Negative: the right thread may have finished the round already.
            Meet(ref _arrivedRight, round, or: -round);
            Delay(round & 15);
            _leftSaw = Left();
            Volatile.Write(ref _arrivedLeft, -round);
            Meet(ref _arrivedRight, -round);
            Count();
        }
    }

    private void RunRight()
    {
        for (int round = 1; round <= rounds && !_isBroken; round++)
        {
            Meet(ref _arrivedLeft, round);
            Volatile.Write(ref _arrivedRight, round);
            Delay((round >> 4) & 15);
            _rightSaw = Right();
            Volatile.Write(ref _arrivedRight, -round);
            Meet(ref _arrivedLeft, -round, or: round + 1);
        }
    }

    private void Count()
    {
        BothSaw += _leftSaw && _rightSaw ? 1 : 0;
        OnlyLeftSaw += _leftSaw && !_rightSaw ? 1 : 0;
        OnlyRightSaw += !_leftSaw && _rightSaw ? 1 : 0;
        NeitherSaw += !_leftSaw && !_rightSaw ? 1 : 0;
    }

    private void Meet(ref int arrived, int round, int or = 0)
    {
        for (int spins = 0; ; spins++)
        {
            int seen = Volatile.Read(ref arrived);
            if (seen == round || (seen == or && or != 0) || _isBroken)
            {
                return;
            }

            if (spins > SpinsBeforeYield)
            {
                Thread.Yield();
            }
        }
    }

    private static void Delay(int steps)
    {
        for (int i = 0; i < steps; i++)
        {
            Thread.SpinWait(1);
        }
    }
}
