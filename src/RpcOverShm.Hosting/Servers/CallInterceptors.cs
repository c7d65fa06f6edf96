using Grpc.Core;
using Grpc.Core.Interceptors;
using Microsoft.Extensions.DependencyInjection;

namespace RpcOverShm.Hosting.Servers;

/// <summary>
/// The interceptors of a service that are activated for each call, in one scope of the container. A service with an
/// instance for each call comes from the same scope. Thread-safe.
/// </summary>
/// <param name="scopes">Creates a scope for each call.</param>
/// <param name="entries">
/// The interceptors, the outermost first. Each is activated when the one before it goes on.
/// </param>
internal sealed class CallInterceptors(IServiceScopeFactory scopes, IReadOnlyList<InterceptorEntry> entries)
    : Interceptor
{
    // The key of the scope's provider among the items of a call.
    private static readonly object s_scope = new();

    /// <summary>Returns the provider of the scope that the interceptors of a call have; null if none.</summary>
    public static IServiceProvider? ScopeOf(ServerCallContext? call) =>
        call is not null && call.UserState.TryGetValue(s_scope, out object? provider)
            ? (IServiceProvider)provider
            : null;

    public override Task<TResponse> UnaryServerHandler<TRequest, TResponse>(
        TRequest request, ServerCallContext context, UnaryServerMethod<TRequest, TResponse> continuation) =>
        RunAsync(context, call => call.Around(continuation, static (inner, activate) =>
            (message, its) => activate().UnaryServerHandler(message, its, inner))(request, context));

    public override Task<TResponse> ClientStreamingServerHandler<TRequest, TResponse>(
        IAsyncStreamReader<TRequest> requestStream,
        ServerCallContext context,
        ClientStreamingServerMethod<TRequest, TResponse> continuation) =>
        RunAsync(context, call => call.Around(continuation, static (inner, activate) =>
            (messages, its) => activate().ClientStreamingServerHandler(messages, its, inner))(requestStream, context));

    public override Task ServerStreamingServerHandler<TRequest, TResponse>(
        TRequest request,
        IServerStreamWriter<TResponse> responseStream,
        ServerCallContext context,
        ServerStreamingServerMethod<TRequest, TResponse> continuation) =>
        RunAsync(context, call => WithResult(call.Around(continuation, static (inner, activate) =>
            (message, responses, its) => activate().ServerStreamingServerHandler(message, responses, its, inner))(
            request, responseStream, context)));

    public override Task DuplexStreamingServerHandler<TRequest, TResponse>(
        IAsyncStreamReader<TRequest> requestStream,
        IServerStreamWriter<TResponse> responseStream,
        ServerCallContext context,
        DuplexStreamingServerMethod<TRequest, TResponse> continuation) =>
        RunAsync(context, call => WithResult(call.Around(continuation, static (inner, activate) =>
            (messages, responses, its) => activate().DuplexStreamingServerHandler(messages, responses, its, inner))(
            requestStream, responseStream, context)));

    private static async Task<bool> WithResult(Task task)
    {
        await task.ConfigureAwait(false);
        return true;
    }

    private async Task<T> RunAsync<T>(ServerCallContext context, Func<Call, Task<T>> run)
    {
        AsyncServiceScope scope = scopes.CreateAsyncScope();
        await using (scope.ConfigureAwait(false))
        {
            context.UserState[s_scope] = scope.ServiceProvider;
            var call = new Call(scope.ServiceProvider, entries);
            await using (call.ConfigureAwait(false))
            {
                return await run(call).ConfigureAwait(false);
            }
        }
    }

    /// <summary>The interceptors of one call.</summary>
    private sealed class Call(IServiceProvider provider, IReadOnlyList<InterceptorEntry> entries) : IAsyncDisposable
    {
        private List<Interceptor>? _owned;

        /// <summary>Returns a method that runs the interceptors around another one.</summary>
        public T Around<T>(T method, Func<T, Func<Interceptor>, T> wrap)
        {
            for (int i = entries.Count - 1; i >= 0; i--)
            {
                InterceptorEntry entry = entries[i];
                method = wrap(method, () => Activate(entry));
            }

            return method;
        }

        public async ValueTask DisposeAsync()
        {
            for (int i = (_owned?.Count ?? 0) - 1; i >= 0; i--)
            {
                switch (_owned![i])
                {
                    case IAsyncDisposable one:
                        await one.DisposeAsync().ConfigureAwait(false);
                        break;
                    case IDisposable one:
                        one.Dispose();
                        break;
                }
            }
        }

        private Interceptor Activate(InterceptorEntry entry)
        {
            (Interceptor interceptor, bool isOwned) = entry.Activate(provider);
            if (isOwned && interceptor is (IAsyncDisposable or IDisposable))
            {
                (_owned ??= []).Add(interceptor);
            }

            return interceptor;
        }
    }
}
