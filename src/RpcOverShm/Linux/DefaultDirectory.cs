using Microsoft.Extensions.Logging;
using RpcOverShm.Diagnostics;

namespace RpcOverShm.Linux;

/// <summary>
/// The runtime directory of a name without the option RuntimeDirectory. Both sides choose by this rule alone, so two
/// processes of one user with the same variables choose the same directory at any time. Immutable.
/// </summary>
internal sealed record DefaultDirectory
{
    private const string Variable = "XDG_RUNTIME_DIR";

    private static string? s_reported; // the last reason that was logged

    private readonly string _given;     // the value of the variable
    private readonly string _temporary; // the directory that needs no variable

    private DefaultDirectory(string given, string temporary)
    {
        string? problem = given.Length == 0 ? null : Problem(given);
        _given = given;
        _temporary = temporary;
        IsInsteadOfVariable = problem is not null;
        Directory = given.Length == 0 || IsInsteadOfVariable ? temporary : Path.Combine(given, "rpcovershm");
        Reason = problem is not null
            ? $"{Variable} is not used here, because {problem}"
            : given.Length == 0 ? $"{Variable} is not set here" : $"{Variable} is set here";
    }

    /// <summary>The path of the directory.</summary>
    public string Directory { get; }

    /// <summary>The beginning of a sentence that says why this is the directory.</summary>
    public string Reason { get; }

    /// <summary>Whether XDG_RUNTIME_DIR is set and is not used.</summary>
    public bool IsInsteadOfVariable { get; }

    // TMPDIR may be any text. A relative path would be another directory for each process.
    private static string Temporary =>
        Path.GetTempPath() is var path && Path.IsPathFullyQualified(path) ? path : "/tmp";

    /// <summary>
    /// Chooses the directory: <c>$XDG_RUNTIME_DIR/rpcovershm</c> if the variable names a directory of this user that
    /// nobody else decides about, else a directory of the user's own under the directory for temporary files.
    /// </summary>
    public static DefaultDirectory Choose() => new(
        Environment.GetEnvironmentVariable(Variable) ?? "",
        Path.Combine(Temporary, $"rpcovershm-{LinuxNative.GetEffectiveUserId()}"));

    /// <summary>
    /// Chooses once more with the same values of the variables: the directory that the variable names may have been
    /// made, changed or removed meanwhile.
    /// </summary>
    public DefaultDirectory ChooseAgain() => new(_given, _temporary);

    /// <summary>
    /// Logs that the variable is set and not used, once in a process for each reason. The log of the first channel or
    /// server that has one gets it.
    /// </summary>
    public void ReportOnce(ILogger logger)
    {
        if (IsInsteadOfVariable
            && logger.IsEnabled(LogLevel.Warning)
            && Interlocked.Exchange(ref s_reported, Reason) != Reason)
        {
            DeferredLog.Write(logger, log => ShmLog.VariableNotUsed(log, Reason, Directory));
        }
    }

    // What the owner of the directory and its mode say is the same for all processes of the user. Whether a file can be
    // made there may change, so it does not count.
    private static string? Problem(string given)
    {
        if (!Path.IsPathFullyQualified(given))
        {
            return $"'{given}' is no absolute path";
        }

        try
        {
            // A directory that is closed to this user still tells its owner. With the dot, the system follows a link.
            uint me = LinuxNative.GetEffectiveUserId();
            FileFacts? found = FileFacts.OfPath(given);
            return (found is { IsDirectory: true } ? found : FileFacts.OfPath(given + "/.")) is not { } facts
                ? $"the directory '{given}' does not exist"
                : facts.UserId != me || facts.IsWritableByAnyone
                    ? $"'{given}' belongs to user {facts.UserId} and has mode {facts.ModeText}, and must belong to "
                        + $"user {me} and not be writable by all users"
                    : null;
        }
        catch (IOException exception)
        {
            return $"'{given}' is out of reach: {exception.Message.TrimEnd('.')}";
        }
    }
}
