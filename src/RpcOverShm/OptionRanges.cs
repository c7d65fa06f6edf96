using System.Numerics;
using RpcOverShm.Scheduling;
using RpcOverShm.Segments;

namespace RpcOverShm;

/// <summary>
/// Checks that the values of options are in their ranges. All errors have one form, "X is a to b; set such a value
/// instead of c", where X is the option with the groups that it is in, as the options class knows it. Texts are made
/// for errors alone: each channel and server checks some thirty options when it starts.
/// </summary>
internal static class OptionRanges
{
    // Timers do not support a longer time.
    private static readonly TimeSpan s_longestTimer = TimeSpan.FromMilliseconds(int.MaxValue);

    /// <summary>Checks a number without an upper limit of its own.</summary>
    /// <param name="least">The smallest number.</param>
    /// <param name="value">The value of the option.</param>
    /// <param name="option">The option with its groups.</param>
    /// <param name="orNull">The meaning of null; null if null is not allowed.</param>
    /// <exception cref="ArgumentOutOfRangeException">The value is not allowed.</exception>
    public static void AtLeast(long least, long? value, string option, string? orNull = null)
    {
        if (value < least)
        {
            Check(false, value, option, $"{least} or more", orNull);
        }
    }

    /// <exception cref="ArgumentOutOfRangeException">The value is not allowed.</exception>
    public static void Between(long least, long most, long value, string option)
    {
        if (value < least || value > most)
        {
            Check(false, value, option, $"{least} to {most}");
        }
    }

    /// <summary>Checks a value that must not be below that of another option; null is neither.</summary>
    /// <exception cref="ArgumentOutOfRangeException">The value is not allowed.</exception>
    public static void NotBelow<T>(T? other, string otherOption, T? value, string option)
        where T : struct, IComparable<T>
    {
        if (other is { } least && value is { } given && given.CompareTo(least) < 0)
        {
            Check(false, value, option, $"at least {otherOption}, which is {other}");
        }
    }

    /// <summary>Checks a value that must not be above that of another option; null is neither.</summary>
    /// <exception cref="ArgumentOutOfRangeException">The value is not allowed.</exception>
    public static void NotAbove(long? other, string otherOption, long? value, string option)
    {
        if (value > other)
        {
            Check(false, value, option, $"at most {otherOption}, which is {other}");
        }
    }

    /// <exception cref="ArgumentOutOfRangeException">The value is zero, negative, infinite or no number.</exception>
    public static void Positive<T>(T value, string option)
        where T : INumber<T> =>
        Check(value > T.Zero && T.IsFinite(value), value, option, "above zero");

    /// <summary>Checks a time without an upper limit.</summary>
    /// <exception cref="ArgumentOutOfRangeException">The value is not allowed.</exception>
    public static void Positive(TimeSpan? value, string option, string? orNull = null) =>
        Check(!(value <= TimeSpan.Zero), value, option, "above zero", orNull);

    /// <summary>Checks a time limit.</summary>
    /// <exception cref="ArgumentOutOfRangeException">The value is not allowed.</exception>
    public static void Timer(TimeSpan value, string option) =>
        Check(value > TimeSpan.Zero && value <= s_longestTimer, value, option, "above zero and below 24 days");

    /// <summary>Checks the time after which something idle ends.</summary>
    /// <remarks>
    /// An idle connection costs memory alone, so a shorter time would save nothing and cost more handshakes.
    /// </remarks>
    /// <exception cref="ArgumentOutOfRangeException">The value is not allowed.</exception>
    public static void Idle(TimeSpan? value, string option) => Check(
        !(value < TimeSpan.FromSeconds(1) || value > s_longestTimer),
        value,
        option,
        "1 second or more and below 24 days",
        "none");

    /// <summary>Checks a pause between attempts to connect.</summary>
    /// <exception cref="ArgumentOutOfRangeException">The value is not allowed.</exception>
    public static void Pause(TimeSpan value, string option) =>
        Check(value > TimeSpan.Zero && value <= TimeSpan.FromDays(1), value, option, "above zero and at most a day");

    /// <exception cref="ArgumentOutOfRangeException">The value is not allowed.</exception>
    public static void Ring(int value, string option) => Check(
        SegmentLayout.IsValidRingCapacity(value),
        value,
        option,
        "a power of two from 64 KiB (65536) to 1 GiB (1073741824)");

    /// <exception cref="ArgumentOutOfRangeException">The value has no name.</exception>
    public static void OneOf<T>(T? value, string option, string? orNull = null)
        where T : struct, Enum
    {
        if (value is { } given && !Enum.IsDefined(given))
        {
            Check(false, value, option, $"one of {string.Join(", ", Enum.GetNames<T>())}", orNull);
        }
    }

    /// <exception cref="ArgumentOutOfRangeException">The value has no name.</exception>
    public static SchedulingMode Scheduling(ShmSchedulingMode value)
    {
        OneOf<ShmSchedulingMode>(value, nameof(ShmServerOptions.Scheduling));
        return (SchedulingMode)value;
    }

    /// <summary>Throws if a value that the caller has looked at is not allowed.</summary>
    /// <exception cref="ArgumentOutOfRangeException">The value is not allowed.</exception>
    public static void Check(bool isAllowed, object? value, string option, string allowed, string? orNull = null)
    {
        if (!isAllowed)
        {
            string all = orNull is null ? allowed : $"{allowed}, or null for {orNull}";
            throw new ArgumentOutOfRangeException(
                option, $"{option} is {all}; set such a value instead of {value ?? "null"}.");
        }
    }
}
