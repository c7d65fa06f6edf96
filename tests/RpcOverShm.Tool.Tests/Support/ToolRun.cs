using RpcOverShm.Testing;
using RpcOverShm.Tool.Commands;
using RpcOverShm.Tool.Output;

namespace RpcOverShm.Tool.Tests.Support;

/// <summary>The end of a run of the tool in this process.</summary>
internal sealed record ToolRun(ExitCode Code, string Out, string Error)
{
    /// <summary>The lines of the output.</summary>
    public string[] Lines => Out.Split('\n', StringSplitOptions.RemoveEmptyEntries);

    public static async Task<ToolRun> RunAsync(TextReader input, params string[] arguments)
    {
        var output = new StringWriter { NewLine = "\n" };
        var error = new StringWriter { NewLine = "\n" };
        var console = new ToolConsole(input, output, error);
        int code = await CommandLine.RunAsync(arguments, console).Bounded();
        return new ToolRun((ExitCode)code, output.ToString(), error.ToString());
    }

    /// <summary>Checks the exit code; a failure of that shows what was written.</summary>
    public ToolRun Expect(ExitCode code)
    {
        Assert.That(Code, Is.EqualTo(code), $"{Out}\n{Error}");
        return this;
    }
}
