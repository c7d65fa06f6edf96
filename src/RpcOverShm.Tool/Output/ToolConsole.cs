using System.Globalization;
using System.Text;
using Microsoft.Win32.SafeHandles;
using Spectre.Console;
using Spectre.Console.Rendering;

namespace RpcOverShm.Tool.Output;

/// <summary>
/// The streams of the tool. Answers go to the output, and all else to the error stream. Thread-safe: one text at a
/// time is written.
/// </summary>
internal sealed class ToolConsole
{
    // Wide enough for any row: what a program reads is not wrapped.
    private const int EndlessWidth = 8192;

    private const int LeastWidth = 20;
    private const int ErrnoEPIPE = 32;
    private const int OtherProgressColumns = 28; // beside the bar

    private readonly TextWriter _out;
    private readonly TextWriter _error;
    private readonly IAnsiConsole _styled;
    private readonly IAnsiConsole _styledError;
    private Func<int>? _readWidth; // of a terminal

    /// <param name="input">The text that a command may read.</param>
    /// <param name="output">The answers.</param>
    /// <param name="error">Failures and hints.</param>
    /// <param name="width">The columns of the terminal.</param>
    /// <param name="isColoured">Whether the terminal shows colours.</param>
    /// <param name="isLive">Whether both streams go to a terminal that can be written to at any place.</param>
    public ToolConsole(
        TextReader input,
        TextWriter output,
        TextWriter error,
        int width = EndlessWidth,
        bool isColoured = false,
        bool isLive = false)
    {
        Width = width;
        IsLive = isLive;
        In = input;
        _out = TextWriter.Synchronized(output);
        _error = TextWriter.Synchronized(error);
        _styled = Styled(_out, width, isColoured, isLive);
        _styledError = Styled(_error, width, isColoured, isLive);
    }

    public TextReader In { get; }

    /// <summary>The columns of the terminal.</summary>
    public int Width { get; private set; }

    /// <summary>Whether the streams go to a terminal that can show something that changes.</summary>
    public bool IsLive { get; }

    /// <summary>The output without styles, for the parser of the command line.</summary>
    public TextWriter Out => _out;

    public TextWriter Error => _error;

    /// <summary>
    /// Returns the console of this process. Colours appear on a terminal only, and not if NO_COLOR is set.
    /// </summary>
    public static ToolConsole OfProcess()
    {
        // The console's own reader would keep the thread that awaits it.
        var input = new StreamReader(Console.OpenStandardInput(), Console.InputEncoding);
        bool isTerminal = !Console.IsOutputRedirected && !Console.IsErrorRedirected;
        bool isLive = isTerminal && Environment.GetEnvironmentVariable("TERM") is not (null or "" or "dumb");
        bool isColoured = isLive && string.IsNullOrEmpty(Environment.GetEnvironmentVariable("NO_COLOR"));
        Func<int>? readWidth = isTerminal ? () => Math.Max(LeastWidth, Console.WindowWidth) : null;
        int width = readWidth?.Invoke() ?? EndlessWidth;
        TextWriter output = Console.IsOutputRedirected ? OpenRedirected() : Console.Out;
        return new ToolConsole(input, output, Console.Error, width, isColoured, isLive) { _readWidth = readWidth };
    }

    /// <summary>Returns whether an exception says that the reader of the output has gone.</summary>
    public static bool IsClosedPipe(Exception exception) => exception is IOException { HResult: ErrnoEPIPE };

    /// <summary>Writes a line at once, so that a reader of a stream has it.</summary>
    public void WriteLine(string text)
    {
        _out.WriteLine(text);
        _out.Flush();
    }

    /// <summary>Writes a text that ends its lines itself.</summary>
    public void Write(string text)
    {
        _out.Write(text);
        _out.Flush();
    }

    public void Write(IRenderable renderable) => _styled.Write(renderable);

    /// <summary>Shows something that is made anew, in the width that the terminal then has.</summary>
    /// <param name="next">Returns the next one; null to end.</param>
    public Task ShowLiveAsync(Func<Task<IRenderable?>> next) => _styled.Live(new Text("")).AutoClear(true)
        .StartAsync(async live =>
        {
            while (await next().ConfigureAwait(false) is { } shown)
            {
                live.UpdateTarget(shown);
                live.Refresh();
                Width = _readWidth?.Invoke() ?? Width;
                _styled.Profile.Width = Width;
            }
        });

    /// <summary>Shows a bar beside the answers, on a terminal, until a task has ended.</summary>
    /// <param name="task">The task, whose failure is its caller's.</param>
    /// <param name="share">Returns the part that is done, from 0 to 1.</param>
    /// <param name="describe">Returns the text before the bar.</param>
    /// <param name="interval">The time between two looks.</param>
    public async Task ShowProgressAsync(Task task, Func<double> share, Func<string> describe, TimeSpan interval)
    {
        if (!IsLive)
        {
            await task.ConfigureAwait(ConfigureAwaitOptions.SuppressThrowing);
            return;
        }

        await _styledError.Progress().AutoClear(true)
            .Columns(
                new TaskDescriptionColumn(),
                new ProgressBarColumn { Width = Math.Clamp(Width - OtherProgressColumns, 4, 40) },
                new PercentageColumn())
            .StartAsync(async progress =>
            {
                ProgressTask bar = progress.AddTask(describe(), maxValue: 1);
                while (!task.IsCompleted)
                {
                    bar.Value = share();
                    bar.Description = Markup.Escape(describe());
                    await Task.WhenAny(task, Task.Delay(interval)).ConfigureAwait(false);
                }
            }).ConfigureAwait(false);
    }

    /// <summary>Writes a line beside the answers.</summary>
    public void WriteNote(string text)
    {
        _error.WriteLine(Visible(text));
        _error.Flush();
    }

    /// <summary>Writes the first line of a failure.</summary>
    public void WriteError(string text) => _styledError.MarkupLineInterpolated($"[red]{Visible(text)}[/]");

    /// <summary>
    /// Returns text of a server without the characters that could steer a terminal or turn the direction of the text.
    /// </summary>
    public static string Visible(string text)
    {
        var visible = new StringBuilder(text.Length);
        foreach (char letter in text)
        {
            bool steers = (char.IsControl(letter) && letter is not ('\n' or '\t'))
                || char.GetUnicodeCategory(letter) == UnicodeCategory.Format;
            visible.Append(steers ? '�' : letter);
        }

        return visible.ToString();
    }

    // The console's own stream drops what nobody reads, and a command would go on for ever. Into a file it is the right
    // one: the other would leave the offset, which the next command of a shell shares, where it is.
    private static StreamWriter OpenRedirected()
    {
        Stream stream = new FileStream(new SafeFileHandle(1, ownsHandle: false), FileAccess.Write, bufferSize: 0);
        if (stream.CanSeek)
        {
            stream = Console.OpenStandardOutput();
        }

        return new StreamWriter(stream, new UTF8Encoding(encoderShouldEmitUTF8Identifier: false)) { AutoFlush = true };
    }

    private static IAnsiConsole Styled(TextWriter writer, int width, bool isColoured, bool isLive)
    {
        IAnsiConsole console = AnsiConsole.Create(new AnsiConsoleSettings
        {
            Ansi = isColoured || isLive ? AnsiSupport.Yes : AnsiSupport.No,
            ColorSystem = isColoured ? ColorSystemSupport.Standard : ColorSystemSupport.NoColors,
            Interactive = isLive ? InteractionSupport.Yes : InteractionSupport.No,
            Out = new AnsiConsoleOutput(writer),
        });
        console.Profile.Width = width;
        return console;
    }
}
