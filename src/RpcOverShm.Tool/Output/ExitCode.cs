namespace RpcOverShm.Tool.Output;

/// <summary>The exit codes of the tool, as its page lists them.</summary>
internal enum ExitCode
{
    /// <summary>All went well.</summary>
    Ok = 0,

    /// <summary>
    /// The call, or one of a benchmark, ended with another status than OK; or something stops servers on this machine.
    /// </summary>
    CallFailed = 1,

    /// <summary>The command line or the input is not allowed.</summary>
    BadInput = 2,

    /// <summary>There is no connection: nobody serves the address, or lets this user in.</summary>
    NotConnected = 3,

    /// <summary>The server lacks what the command needs: reflection, health or statistics.</summary>
    NotOffered = 4,

    /// <summary>The server answers that it is not healthy.</summary>
    NotServing = 5,

    /// <summary>The user has interrupted the command, as with Ctrl-C.</summary>
    Interrupted = 130,

    /// <summary>The reader of the output has gone, as with <c>| head</c>.</summary>
    OutputClosed = 141,
}
