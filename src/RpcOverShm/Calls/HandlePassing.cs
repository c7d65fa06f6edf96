using System.Buffers.Binary;
using System.Runtime.InteropServices;
using Grpc.Core;
using Microsoft.Win32.SafeHandles;
using RpcOverShm.Connections;
using RpcOverShm.Protocol;
using RpcOverShm.Systems;

namespace RpcOverShm.Calls;

/// <summary>Passes handles of calls to the peer. Has no state.</summary>
internal static class HandlePassing
{
    /// <summary>Returns a copy of handles that can be sent.</summary>
    /// <exception cref="ArgumentException">There are too many, or one is null, closed or invalid.</exception>
    public static SafeHandle[] Checked(SafeHandle[] handles)
    {
        if (handles.Length > HandleNotice.MostHandles)
        {
            throw new ArgumentException(
                $"There are {handles.Length} handles; at most {HandleNotice.MostHandles} go together.",
                nameof(handles));
        }

        foreach (SafeHandle? handle in handles)
        {
            if (handle is null or { IsInvalid: true } or { IsClosed: true })
            {
                throw new ArgumentException(
                    "A handle is null, closed or invalid. Keep handles open until they were sent.", nameof(handles));
            }

            if (handle is SafeWaitHandle or SafeProcessHandle)
            {
                throw new ArgumentException(
                    $"A {handle.GetType().Name} is no handle of the system here. Files, pipes and sockets can be sent.",
                    nameof(handles));
            }
        }

        return [.. handles];
    }

    // Of handles that did not reach a peer that is gone.
    private const long Lost = long.MaxValue;

    /// <summary>
    /// Passes handles, without waiting. Returns null, or why they cannot be passed. If the peer is gone, the number is
    /// that of no handles, and the call will find that out.
    /// </summary>
    public static Status? TryPass(Connection connection, SafeHandle[] handles, out long number)
    {
        number = 0;
        if (connection.Handles is not { } passing)
        {
            return StatusMapping.HandlesNotTaken;
        }

        try
        {
            number = passing.Pass(handles);
            return null;
        }
        catch (SegmentException exception)
        {
            return new Status(StatusCode.ResourceExhausted, exception.Message, exception);
        }
        catch (WireFullException)
        {
            return StatusMapping.HandlesNotRead;
        }
        catch (ObjectDisposedException) when (connection.CloseReason is null)
        {
            return StatusMapping.HandleClosed;
        }
        catch (Exception exception) when (exception is IOException or ObjectDisposedException)
        {
            number = Lost;
            return null;
        }
    }

    /// <summary>Passes handles and names them in a frame of the call, before its next message.</summary>
    /// <returns>Null, or why they cannot be passed.</returns>
    public static Status? Send(Connection connection, ConnectionCall call, SafeHandle[] handles)
    {
        if (handles.Length == 0)
        {
            return null;
        }

        Status? problem = TryPass(connection, handles, out long number);
        if (problem is null && number != Lost)
        {
            Span<byte> bytes = stackalloc byte[sizeof(long)];
            BinaryPrimitives.WriteInt64LittleEndian(bytes, number);
            connection.Sender.Send(call, FrameKind.Handles, FrameFlags.None, default, bytes);
        }

        return problem;
    }
}
