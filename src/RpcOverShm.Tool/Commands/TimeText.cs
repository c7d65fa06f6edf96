using System.Globalization;
using System.Text.RegularExpressions;
using RpcOverShm.Tool.Output;

namespace RpcOverShm.Tool.Commands;

/// <summary>A time in the words of a command line.</summary>
internal static partial class TimeText
{
    private static readonly TimeSpan s_longest = TimeSpan.FromDays(30);

    /// <summary>Returns the time of a text such as <c>500ms</c>.</summary>
    /// <exception cref="ToolException">The text has another form, or the time is not allowed.</exception>
    public static TimeSpan Parse(string text, string option, bool mayBeZero = false)
    {
        Match match = Form().Match(text);
        if (match.Success)
        {
            double number = double.Parse(match.Groups["number"].Value, CultureInfo.InvariantCulture);
            double seconds = number * match.Groups["unit"].Value switch
            {
                "ms" => 0.001,
                "m" => 60,
                "h" => 3600,
                _ => 1,
            };
            if ((seconds > 0 || mayBeZero) && seconds <= s_longest.TotalSeconds)
            {
                return TimeSpan.FromSeconds(seconds);
            }
        }

        string least = mayBeZero ? "a time of 0 or more" : "a time above 0";
        throw new ToolException(
            ExitCode.BadInput, $"{option} is {least} and up to 30 days, such as 500ms, 5s, 2m or 1h; not '{text}'.");
    }

    [GeneratedRegex(@"^(?<number>[0-9]{1,9}(?:\.[0-9]{1,9})?)(?<unit>ms|s|m|h)?\z")]
    private static partial Regex Form();
}
