using Grpc.Core;
using RpcOverShm.Calls;
using RpcOverShm.Connections;

namespace RpcOverShm.Clients;

/// <content>
/// The first step of a call with credentials: obtains metadata from the credentials of the call and then from those of
/// the channel, one after the other. The deadline and the token of the call are already armed.
/// </content>
internal sealed partial class CallStarter
{
    private readonly CancellationToken _shutdown = connections.ShutdownToken;

    /// <summary>Whether a call with these options asks credentials for metadata first.</summary>
    public bool NeedsCredentials(in CallOptions options) =>
        options.Credentials is not null || settings.Credentials.Count > 0;

    /// <summary>
    /// Gathers the metadata for an armed call and starts the call with it. Never fails: a failure becomes the call's
    /// status.
    /// </summary>
    /// <returns>The result of <paramref name="start"/>; null if the call has ended before.</returns>
    public async Task<Connection?> StartWithCredentialsAsync(
        ClientCall call,
        RequestHeadInputs inputs,
        CallCredentials? own,
        Func<RequestHeadInputs, Task<Connection?>> start)
    {
        Metadata headers;
        try
        {
            // No connection knows the call yet, so none would end it when the channel is shut down.
            using CancellationTokenRegistration ending = _shutdown.UnsafeRegister(
                static state => ((ClientCall)state!).Finish(StatusMapping.Disposed, isCancel: false), call);

            // Credentials that complete late or never must not delay the end of the call.
            headers = await GatherAsync(call, inputs.Headers, own).Observed()
                .WaitAsync(call.Ended).ConfigureAwait(false);
        }
        catch (Exception exception)
        {
            call.FinishUnsent(StatusMapping.FromCredentialsFailure(exception));
            return null;
        }

        try
        {
            return call.IsFinished ? null : await start(inputs with { Headers = headers }).ConfigureAwait(false);
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
