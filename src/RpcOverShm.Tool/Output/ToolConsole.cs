using System.Globalization;
using System.Text;
using Spectre.Console;

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

    private readonly TextWriter _out;
    private readonly TextWriter _error;
    private readonly IAnsiConsole _styled;
    private readonly IAnsiConsole _styledError;

    /// <param name="input">The text that a command may read.</param>
    /// <param name="output">The answers.</param>
    /// <param name="error">Failures and hints.</param>
    /// <param name="width">The columns of the terminal.</param>
    /// <param name="isColoured">Whether the terminal shows colours.</param>
    public ToolConsole(
        TextReader input, TextWriter output, TextWriter error, int width = EndlessWidth, bool isColoured = false)
    {
        In = input;
        _out = TextWriter.Synchronized(output);
        _error = TextWriter.Synchronized(error);
        _styled = Styled(_out, width, isColoured);
        _styledError = Styled(_error, width, isColoured);
    }

    public TextReader In { get; }

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
        bool isColoured = isTerminal
            && string.IsNullOrEmpty(Environment.GetEnvironmentVariable("NO_COLOR"))
            && Environment.GetEnvironmentVariable("TERM") is not (null or "" or "dumb");
        int width = isTerminal ? Math.Max(LeastWidth, Console.WindowWidth) : EndlessWidth;
        return new ToolConsole(input, Console.Out, Console.Error, width, isColoured);
    }

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

    public void Write(Table table) => _styled.Write(table);

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

    private static IAnsiConsole Styled(TextWriter writer, int width, bool isColoured)
    {
        IAnsiConsole console = AnsiConsole.Create(new AnsiConsoleSettings
        {
            Ansi = isColoured ? AnsiSupport.Yes : AnsiSupport.No,
            ColorSystem = isColoured ? ColorSystemSupport.Standard : ColorSystemSupport.NoColors,
            Interactive = InteractionSupport.No,
            Out = new AnsiConsoleOutput(writer),
        });
        console.Profile.Width = width;
        return console;
    }
}
