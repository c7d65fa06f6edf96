using System.Runtime.InteropServices;
using Grpc.Core;
using Microsoft.Win32.SafeHandles;
using RpcOverShm.Calls;
using RpcOverShm.Links;
using RpcOverShm.Protocol;

namespace RpcOverShm.Servers;

/// <content>Handles that come with the requests of the call and go with its answer.</content>
internal sealed partial class ServerCall
{
    private HandleQueue? _handles;

    /// <summary>The handles of the client; null for most calls.</summary>
    private HandleQueue? Handles => Volatile.Read(ref _handles);

    public override void OnHandles(HandleSet? set)
    {
        if (set is null)
        {
            Stop(StatusMapping.HandlesMissing(HandleArrival.Refused));
            return;
        }

        HandleQueue handles = _handles ??= new HandleQueue();
        handles.Add(set);

        // StoreLoad: who ends the method closes the queue, or this thread sees that the call has ended.
        Interlocked.MemoryBarrier();
        if (IsEnded)
        {
            handles.Close();
        }
    }

    /// <summary>Takes the next handles of the client; none if no further ones have come.</summary>
    /// <exception cref="RpcException">They do not come.</exception>
    public async ValueTask<SafeFileHandle[]> TakeHandlesAsync(CancellationToken cancellationToken)
    {
        if (Handles is not { } handles)
        {
            return [];
        }

        using var either = CancellationTokenSource.CreateLinkedTokenSource(cancellationToken, CancellationToken);
        return await handles.TakeAsync(either.Token).ConfigureAwait(false);
    }

    /// <summary>Sends handles before the next message or the end of the answer.</summary>
    /// <exception cref="InvalidOperationException">The call has ended.</exception>
    /// <exception cref="RpcException">The handles cannot be passed.</exception>
    public void SendHandles(SafeHandle[] handles)
    {
        if (IsEnded || IsOneWay)
        {
            throw new InvalidOperationException(
                "Can't send handles because the request is complete, or the call is one-way.");
        }

        if (HandlePassing.Send(Connection, this, handles) is { } problem)
        {
            throw new RpcException(problem);
        }
    }

    // Returns the trailer of a call whose handles were closed before.
    private StatusTrailer? NameHandles(long number)
    {
        if (number == 0)
        {
            return null;
        }

        if (IsOneWay)
        {
            throw new ProtocolException("The peer started a one-way call with handles. Such a call has none.");
        }

        if (Connection.Handles is not { } handles)
        {
            throw new ProtocolException("The peer started a call with handles on a connection without handles.");
        }

        if (handles.Name(number) is not { } set)
        {
            return new StatusTrailer(StatusMapping.HandlesMissing(HandleArrival.Refused));
        }

        Volatile.Write(ref _handles, new HandleQueue());
        _handles!.Add(set);
        return null;
    }
}
