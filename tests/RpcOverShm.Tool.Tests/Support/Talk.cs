using System.IO.Pipelines;
using System.Text;
using RpcOverShm.Testing;
using RpcOverShm.Tool.Commands;
using RpcOverShm.Tool.Output;

namespace RpcOverShm.Tool.Tests.Support;

/// <summary>A run of the tool whose input the test writes line by line, while it reads the output.</summary>
internal sealed class Talk : IDisposable
{
    private readonly Pipe _input = new();
    private readonly Pipe _output = new();
    private readonly StringWriter _error = new() { NewLine = "\n" };
    private readonly StreamReader _heard;

    public Talk() => _heard = new StreamReader(_output.Reader.AsStream());

    public string Error => _error.ToString();

    public Task<int> RunAsync(params string[] arguments) => RunAsync(CancellationToken.None, arguments);

    public Task<int> RunAsync(CancellationToken interrupt, params string[] arguments)
    {
        var console = new ToolConsole(
            new StreamReader(_input.Reader.AsStream()),
            new StreamWriter(_output.Writer.AsStream()) { NewLine = "\n" },
            _error);
        return CommandLine.RunAsync(arguments, console, interrupt);
    }

    public void Say(string line)
    {
        byte[] bytes = Encoding.UTF8.GetBytes(line + "\n");
        _input.Writer.WriteAsync(bytes).AsTask().GetAwaiter().GetResult();
    }

    public async Task<string?> HearAsync() => await _heard.ReadLineAsync().Bounded();

    public void End() => _input.Writer.Complete();

    public void Dispose()
    {
        _heard.Dispose();
        _error.Dispose();
    }
}
