namespace RpcOverShm.Tool.Output;

/// <summary>The exit codes of the tool, as its page lists them.</summary>
internal enum ExitCode
{
    /// <summary>All went well.</summary>
    Ok = 0,

    /// <summary>The call ended with another status than OK.</summary>
    CallFailed = 1,

    /// <summary>The command line or the input is not allowed.</summary>
    BadInput = 2,

    /// <summary>There is no connection: nobody serves the address, or lets this user in.</summary>
    NotConnected = 3,

    /// <summary>The server lacks the service that the command needs: reflection or health.</summary>
    NotOffered = 4,

    /// <summary>The server answers that it is not healthy.</summary>
    NotServing = 5,

    /// <summary>The user has interrupted the command, as with Ctrl-C.</summary>
    Interrupted = 130,
}
