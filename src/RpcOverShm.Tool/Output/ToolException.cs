namespace RpcOverShm.Tool.Output;

/// <summary>The end of a command that could not do what it was asked; the text is for the user.</summary>
internal sealed class ToolException(ExitCode code, string message, Exception? inner = null)
    : Exception(message, inner)
{
    public ExitCode Code { get; } = code;
}
