using System.Runtime.CompilerServices;
using Grpc.Core;
using RpcOverShm.Calls;
using RpcOverShm.Connections;

namespace RpcOverShm.Clients;

/// <summary>
/// Starts calls that have credentials. First asks the call's own credentials for metadata and then the channel's, one
/// after the other, while the call's deadline and token are armed. Keeps no state of a call.
/// </summary>
internal sealed class CredentialedCalls(ClientSettings settings, CancellationToken shutdown)
{
    public bool AreNeeded(in CallOptions options) => options.Credentials is not null || settings.Credentials.Count > 0;

    /// <summary>Makes a call and blocks for its response, also on a thread with a synchronization context.</summary>
    public static TResponse Block<TRequest, TResponse>(
        CallInvoker invoker, Method<TRequest, TResponse> method, string? host, CallOptions options, TRequest request)
        where TRequest : class
        where TResponse : class
    {
        AsyncUnaryCall<TResponse> Make() => invoker.AsyncUnaryCall(method, host, options, request);

        // The user's credentials may continue on this thread's context. That would deadlock while the thread blocks.
        bool hasContext = SynchronizationContext.Current is not null || TaskScheduler.Current != TaskScheduler.Default;
        using AsyncUnaryCall<TResponse> call = hasContext ? WaitFor(Task.Run(Make).GetAwaiter()) : Make();
        return call.ResponseAsync.GetAwaiter().GetResult();
    }

    private static AsyncUnaryCall<TResponse> WaitFor<TResponse>(TaskAwaiter<AsyncUnaryCall<TResponse>> making)
    {
        try
        {
            return making.GetResult();
        }
        catch (ThreadInterruptedException)
        {
            // Nobody waits for the call that is being made. Making it does not throw.
            making.UnsafeOnCompleted(() => making.GetResult().Dispose());
            throw;
        }
    }

    /// <summary>
    /// Gathers the metadata for an armed call and starts the call with it. Never fails: a failure becomes the call's
    /// status.
    /// </summary>
    /// <returns>The result of <paramref name="start"/>; null if the call has ended before.</returns>
    public async Task<Connection?> StartAsync(
        ClientCall call,
        RequestHeadInputs target,
        CallCredentials? own,
        Func<RequestHeadInputs, Task<Connection?>> start)
    {
        Metadata headers;
        try
        {
            // No connection knows the call yet, so none would end it when the channel is shut down.
            using CancellationTokenRegistration ending = shutdown.UnsafeRegister(
                static state => ((ClientCall)state!).Finish(StatusMapping.Disposed, isCancel: false), call);

            // Credentials that answer late or never must not delay the end of the call.
            headers = await GatherAsync(call, target.Headers, own).Observed()
                .WaitAsync(call.Ended).ConfigureAwait(false);
        }
        catch (Exception exception)
        {
            call.FinishUnsent(StatusMapping.FromCredentialsFailure(exception));
            return null;
        }

        try
        {
            return call.IsFinished ? null : await start(target with { Headers = headers }).ConfigureAwait(false);
        }
        catch (Exception exception)
        {
            call.FinishUnsent(StatusMapping.FromStartFailure(exception));
            return null;
        }
    }

    private async Task<Metadata> GatherAsync(ClientCall call, Metadata? headers, CallCredentials? own)
    {
        int slash = call.MethodName.LastIndexOf('/');
        var context = new AuthInterceptorContext(
            settings.Authority + call.MethodName[..slash], call.MethodName[(slash + 1)..], call.Ended);
        IEnumerable<AsyncAuthInterceptor> first = own is null ? [] : AuthInterceptors.Of(own);
        Metadata all = [.. headers ?? []];
        foreach (AsyncAuthInterceptor interceptor in first.Concat(settings.Credentials))
        {
            var added = new Metadata();
            await interceptor(context, added).ConfigureAwait(false);
            foreach (Metadata.Entry entry in added)
            {
                all.Add(entry);
            }
        }

        return all;
    }
}
