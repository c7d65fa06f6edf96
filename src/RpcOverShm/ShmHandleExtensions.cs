using System.Runtime.InteropServices;
using Microsoft.Win32.SafeHandles;
using RpcOverShm;
using RpcOverShm.Calls;
using RpcOverShm.Servers;

namespace Grpc.Core;

/// <summary>Handles of open files, pipes, sockets and the like, which go with calls and messages.</summary>
/// <remarks>
/// Both sides must allow them (<see cref="ShmHandleOptions.AllowHandles"/>). The sender's handles stay its own, and the
/// receiver gets others for the same open files. Thread-safe.
/// </remarks>
public static class ShmHandleExtensions
{
    /// <summary>Returns the options with handles that go with the start of a call.</summary>
    /// <param name="options">The options of a call of any shape, but not one-way and not in a batch.</param>
    /// <param name="handles">
    /// At most 16. They must stay open until the call has ended, because each attempt of a retry sends them.
    /// </param>
    /// <returns>Options for any number of calls, each of which sends the handles.</returns>
    /// <exception cref="ArgumentNullException"><paramref name="handles"/> is null.</exception>
    /// <exception cref="ArgumentException">There are more than 16, or one is null, closed or invalid.</exception>
    /// <remarks>
    /// The call fails with <see cref="StatusCode.FailedPrecondition"/> if its server takes no handles, and with
    /// <see cref="StatusCode.ResourceExhausted"/> if it does not read or take those of earlier calls. A channel of
    /// another transport ignores the handles. They replace those that the options had.
    /// </remarks>
    public static CallOptions WithHandles(this CallOptions options, params SafeHandle[] handles)
    {
        ArgumentNullException.ThrowIfNull(handles);
        return options.WithWriteOptions(new CarriedHandles(options.WriteOptions, handles, received: null));
    }

    /// <summary>Returns the options with handles in both directions of a call.</summary>
    /// <param name="options">As for <see cref="WithHandles(CallOptions, SafeHandle[])"/>.</param>
    /// <param name="received">Gets what the server sends. For one call at a time; the caller disposes it.</param>
    /// <param name="handles">As for <see cref="WithHandles(CallOptions, SafeHandle[])"/>.</param>
    /// <returns>Options for one call at a time.</returns>
    /// <exception cref="ArgumentNullException">An argument is null.</exception>
    /// <exception cref="ArgumentException">There are more than 16, or one is null, closed or invalid.</exception>
    public static CallOptions WithHandles(
        this CallOptions options, ShmReceivedHandles received, params SafeHandle[] handles)
    {
        ArgumentNullException.ThrowIfNull(received);
        ArgumentNullException.ThrowIfNull(handles);
        return options.WithWriteOptions(new CarriedHandles(options.WriteOptions, handles, received.Queue));
    }

    /// <summary>Writes a message of a stream with handles, which the reader can take when it has the message.</summary>
    /// <typeparam name="T">The type of the message.</typeparam>
    /// <param name="stream">The requests of a call, or the responses of a method.</param>
    /// <param name="message">The message.</param>
    /// <param name="handles">At most 16. They must stay open until the call has ended.</param>
    /// <param name="cancellationToken">As for the method without handles.</param>
    /// <returns>Completes when the message was sent.</returns>
    /// <exception cref="ArgumentNullException">An argument is null.</exception>
    /// <exception cref="ArgumentException">There are more than 16, or one is null, closed or invalid.</exception>
    /// <remarks>
    /// One write at a time, as without handles. If they cannot be passed, a client's call ends as with
    /// <see cref="WithHandles(CallOptions, SafeHandle[])"/>, and a method gets the status as an exception.
    /// </remarks>
    public static Task WriteAsync<T>(
        this IAsyncStreamWriter<T> stream,
        T message,
        SafeHandle[] handles,
        CancellationToken cancellationToken = default)
    {
        ArgumentNullException.ThrowIfNull(stream);
        ArgumentNullException.ThrowIfNull(handles);
        WriteOptions? plain = stream.WriteOptions;
        var carried = new CarriedHandles(plain, handles, received: null);
        return WriteAndRestoreAsync();

        async Task WriteAndRestoreAsync()
        {
            stream.WriteOptions = carried;
            try
            {
                await stream.WriteAsync(message, cancellationToken).ConfigureAwait(false);
            }
            finally
            {
                stream.WriteOptions = plain;
            }
        }
    }

    /// <summary>Takes the next handles that the client has sent together, at most 16.</summary>
    /// <param name="context">The context of a call; one of another transport has no handles.</param>
    /// <param name="cancellationToken">Ends the wait, as the end of the call does.</param>
    /// <returns>
    /// The handles, in the order of the client. They belong to the caller, who disposes them; those that no method
    /// takes are closed when it has ended. Empty if no further ones were sent with what has come of the call: so ask
    /// after the message of a stream that they belong to. Those of a later message may be there already, so a message
    /// says whether it has some.
    /// </returns>
    /// <exception cref="ArgumentNullException">The context is null.</exception>
    /// <exception cref="RpcException">As for <see cref="ShmReceivedHandles.TakeAsync"/>.</exception>
    /// <exception cref="OperationCanceledException">The token was cancelled, or the call has ended.</exception>
    public static ValueTask<SafeFileHandle[]> TakeHandlesAsync(
        this ServerCallContext context, CancellationToken cancellationToken = default)
    {
        ArgumentNullException.ThrowIfNull(context);
        return ShmServerCallContext.CallOf(context) is { } call
            ? call.TakeHandlesAsync(cancellationToken)
            : ValueTask.FromResult<SafeFileHandle[]>([]);
    }

    /// <summary>Sends handles to the client of a call, before the next message or the end of the answer.</summary>
    /// <param name="context">The context of a call.</param>
    /// <param name="handles">At most 16. When this returns, they may be closed.</param>
    /// <exception cref="ArgumentNullException">An argument is null.</exception>
    /// <exception cref="ArgumentException">There are more than 16, or one is null, closed or invalid.</exception>
    /// <exception cref="InvalidOperationException">The call has ended, or is one-way.</exception>
    /// <exception cref="RpcException">
    /// <see cref="StatusCode.FailedPrecondition"/>: the client takes no handles, or the call came over another
    /// transport. <see cref="StatusCode.ResourceExhausted"/>: the client does not read, or the system lacks something.
    /// The call fails with this status unless its method catches the exception.
    /// </exception>
    /// <remarks>A client that did not ask for handles closes them.</remarks>
    public static void SendHandles(this ServerCallContext context, params SafeHandle[] handles)
    {
        ArgumentNullException.ThrowIfNull(context);
        ArgumentNullException.ThrowIfNull(handles);
        handles = HandlePassing.Checked(handles);
        ServerCall call = ShmServerCallContext.CallOf(context)
            ?? throw new RpcException(StatusMapping.HandlesNotTaken);
        call.SendHandles(handles);
    }
}
