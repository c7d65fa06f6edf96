using System.Runtime.InteropServices;
using Grpc.Core;

namespace RpcOverShm.Testing.Soak;

/// <summary>One line of a ledger: an event of a call.</summary>
/// <param name="CallId">The call, as <see cref="SoakCallId"/> packs it.</param>
/// <param name="Time">The time of the event, from the system's monotonic clock, which all processes share.</param>
/// <param name="Stamp">The number of the entry plus one; written last, so an entry without it is incomplete.</param>
/// <param name="Event">The event.</param>
/// <param name="Shape">The shape of the call.</param>
/// <param name="Status">The status of the call; used by the events that end one.</param>
[StructLayout(LayoutKind.Sequential, Pack = 1, Size = Bytes)]
public readonly record struct LedgerEntry(
    ulong CallId, long Time, uint Stamp, LedgerEvent Event, SoakShape Shape, byte Status)
{
    public const int Bytes = 32;

    public StatusCode StatusCode => (StatusCode)Status;
}

/// <summary>An event of a call at one of its ends.</summary>
public enum LedgerEvent : byte
{
    None,

    /// <summary>The caller, of a callback the server, is about to start the call.</summary>
    Asked,

    /// <summary>The caller has seen the end of the call.</summary>
    Ended,

    /// <summary>A method, of a callback the client's, has begun to run for the call.</summary>
    Began,

    /// <summary>The method is about to return or to throw.</summary>
    Returned,
}
