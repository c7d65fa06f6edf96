using RpcOverShm.Retries;

namespace RpcOverShm.Tests.Retries;

/// <summary>The deadline of a call while the wall clock is set.</summary>
public class RetryDeadlineTests
{
    private static readonly TimeSpan s_timeout = TimeSpan.FromSeconds(10);

    [TestCase(0)]
    [TestCase(3600)]
    [TestCase(-3600)]
    public void Remaining_WhenTheWallClockIsSet_CountsOnlyTheTimeThatHasPassed(int seconds)
    {
        var clock = new SetClock();
        var expiry = new RetryDeadline(s_timeout, clock);
        clock.Advance(TimeSpan.FromSeconds(4));
        clock.Set(TimeSpan.FromSeconds(seconds));

        Assert.That(expiry.Remaining, Is.EqualTo(TimeSpan.FromSeconds(6)));
        Assert.That(expiry.Deadline, Is.EqualTo(clock.GetUtcNow().UtcDateTime + TimeSpan.FromSeconds(6)));
        Assert.That(expiry.Deadline.Kind, Is.EqualTo(DateTimeKind.Utc));
    }

    [Test]
    public void Deadline_WhenTheTimeIsUp_HasPassedWhateverTheWallClockSays()
    {
        var clock = new SetClock();
        var expiry = new RetryDeadline(s_timeout, clock);
        clock.Advance(s_timeout);
        clock.Set(TimeSpan.FromHours(-1));

        Assert.That(expiry.Remaining, Is.EqualTo(TimeSpan.Zero));
        Assert.That(expiry.Deadline, Is.EqualTo(DateTime.MinValue));
    }

    [Test]
    public void Deadline_BeyondTheEndOfTheCalendar_IsNone() =>
        Assert.That(new RetryDeadline(TimeSpan.MaxValue, new SetClock()).Deadline, Is.EqualTo(DateTime.MaxValue));

    private sealed class SetClock : TimeProvider
    {
        private DateTimeOffset _now = new(2026, 1, 1, 0, 0, 0, TimeSpan.Zero);
        private long _ticks = 1000;

        public override long TimestampFrequency => TimeSpan.TicksPerSecond;

        public override DateTimeOffset GetUtcNow() => _now;

        public override long GetTimestamp() => _ticks;

        public void Advance(TimeSpan time)
        {
            _ticks += time.Ticks;
            _now += time;
        }

        /// <summary>Sets the wall clock forward or back.</summary>
        public void Set(TimeSpan by) => _now += by;
    }
}
