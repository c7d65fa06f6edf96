namespace RpcOverShm.Connections;

/// <summary>Why a connection ended. The first reason wins, and everything that was pending reports it.</summary>
/// <param name="Cause">What kind of end it is.</param>
/// <param name="Text">The same for people: a sentence that can stand in a status.</param>
/// <param name="Exception">What was thrown, if anything was.</param>
internal sealed record CloseReason(CloseCause Cause, string Text, Exception? Exception = null);
