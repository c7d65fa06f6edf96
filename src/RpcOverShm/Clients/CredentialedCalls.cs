using Grpc.Core;
using RpcOverShm.Calls;
using RpcOverShm.Connections;

namespace RpcOverShm.Clients;

/// <summary>
/// Starts calls that have credentials: those are asked for metadata first, the call's own before the channel's, one
/// after the other. The call's deadline and token run meanwhile. Holds nothing of a call.
/// </summary>
/// <param name="settings">The channel's.</param>
/// <param name="shutdown">Fires when the channel is shut down.</param>
internal sealed class CredentialedCalls(ClientSettings settings, CancellationToken shutdown)
{
    public bool AreNeeded(in CallOptions options) => options.Credentials is not null || settings.Credentials.Count > 0;

    /// <summary>Makes a call and blocks for its response, whatever context the thread has.</summary>
    public static TResponse Block<TResponse>(Func<AsyncUnaryCall<TResponse>> make)
    {
        // The user's code that is asked for metadata may want to go on in this thread's context, which waits for it.
        bool hasContext = SynchronizationContext.Current is not null || TaskScheduler.Current != TaskScheduler.Default;
        using AsyncUnaryCall<TResponse> call = hasContext ? Task.Run(make).GetAwaiter().GetResult() : make();
        return call.ResponseAsync.GetAwaiter().GetResult();
    }

    /// <summary>Gathers the metadata and starts the call with it.</summary>
    /// <param name="call">The call; armed.</param>
    /// <param name="target">What its head is made of.</param>
    /// <param name="own">The call's own credentials; null for none.</param>
    /// <param name="start">Starts the call.</param>
    /// <returns>What <paramref name="start"/> returns; null when the call has ended before.</returns>
    public async Task<Connection?> StartAsync(
        ClientCall call,
        RequestHeadInputs target,
        CallCredentials? own,
        Func<RequestHeadInputs, Task<Connection?>> start)
    {
        if (await AddAsync(call, target, own).ConfigureAwait(false) is not { } withMetadata)
        {
            return null;
        }

        try
        {
            return await start(withMetadata).ConfigureAwait(false);
        }
        catch (Exception exception)
        {
            call.FinishUnsent(StatusMapping.FromStartFailure(exception));
            return null;
        }
    }

    /// <summary>Gathers the metadata. Never fails: what goes wrong becomes the call's status.</summary>
    /// <param name="call">The call; armed.</param>
    /// <param name="target">What its head is made of.</param>
    /// <param name="own">The call's own credentials; null for none.</param>
    /// <returns>The target with the metadata; null when the call has ended.</returns>
    public async Task<RequestHeadInputs?> AddAsync(ClientCall call, RequestHeadInputs target, CallCredentials? own)
    {
        try
        {
            // No connection knows of the call yet, which would end it with the channel.
            using CancellationTokenRegistration ending = shutdown.UnsafeRegister(
                static state => ((ClientCall)state!).Finish(StatusMapping.Disposed, isCancel: false), call);

            // Whoever answers too late, or never, keeps nobody from learning how the call has ended.
            Metadata headers = await GatherAsync(call, target.Headers, own).Observed()
                .WaitAsync(call.Ended).ConfigureAwait(false);
            return call.IsFinished ? null : target with { Headers = headers };
        }
        catch (Exception exception)
        {
            call.FinishUnsent(StatusMapping.FromCredentialsFailure(exception));
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
