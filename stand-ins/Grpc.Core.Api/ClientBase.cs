using System.Diagnostics;
using Grpc.Core.Interceptors;
using Grpc.Core.Internal;
using Grpc.Core.Utils;

namespace Grpc.Core;

/// <summary>
/// What generated clients stand on. A client's invoker is always wrapped in an interceptor that sets the host of its
/// configuration, so that <see cref="ClientBase{T}.WithHost"/> can make a sibling from the bare invoker.
/// </summary>
[DebuggerDisplay("{ServiceNameDebuggerToString(),nq}{CallInvoker}")]
[DebuggerTypeProxy(typeof(ClientDebugView))]
public abstract class ClientBase
{
    protected ClientBase()
        : this(new UnimplementedCallInvoker())
    {
    }

    protected ClientBase(ClientBaseConfiguration configuration)
    {
        Configuration = GrpcPreconditions.CheckNotNull(configuration, nameof(configuration));
        CallInvoker = configuration.CreateDecoratedCallInvoker();
    }

    public ClientBase(ChannelBase channel)
        : this(channel.CreateCallInvoker())
    {
    }

    public ClientBase(CallInvoker callInvoker)
        : this(new ClientBaseConfiguration(callInvoker, null))
    {
    }

    protected CallInvoker CallInvoker { get; }

    internal ClientBaseConfiguration Configuration { get; }

    private string ServiceNameDebuggerToString() =>
        ClientDebugView.FindServiceName(GetType()) is { } name ? $"Service = \"{name}\", " : "";

    /// <summary>Opaque to its users: generated clients only hand it from one constructor to the next.</summary>
    protected internal class ClientBaseConfiguration
    {
        private readonly CallInvoker _undecoratedCallInvoker;
        private readonly string? _host;

        internal ClientBaseConfiguration(CallInvoker undecoratedCallInvoker, string? host)
        {
            _undecoratedCallInvoker =
                GrpcPreconditions.CheckNotNull(undecoratedCallInvoker, nameof(undecoratedCallInvoker));
            _host = host;
        }

        internal CallInvoker CreateDecoratedCallInvoker() =>
            _undecoratedCallInvoker.Intercept(new HostInterceptor(this));

        internal ClientBaseConfiguration WithHost(string host) =>
            new(_undecoratedCallInvoker, GrpcPreconditions.CheckNotNull(host, nameof(host)));

        // A null host replaces as well: what the caller passed is never kept.
        private ClientBaseConfigurationInfo Configure(CallOptions options) => new(_host, options);

        /// <summary>What a configuration decides about a call. Grpc.Core has a type forward to this name.</summary>
        internal readonly struct ClientBaseConfigurationInfo
        {
            internal readonly string? Host;
            internal readonly CallOptions CallOptions;

            internal ClientBaseConfigurationInfo(string? host, CallOptions callOptions)
            {
                Host = host;
                CallOptions = callOptions;
            }
        }

        /// <summary>Applies a configuration to every call of its client.</summary>
        private sealed class HostInterceptor(ClientBaseConfiguration configuration) : ContextInterceptor
        {
            protected override ClientInterceptorContext<TRequest, TResponse> Change<TRequest, TResponse>(
                ClientInterceptorContext<TRequest, TResponse> context)
            {
                var info = configuration.Configure(context.Options);
                return new ClientInterceptorContext<TRequest, TResponse>(context.Method, info.Host, info.CallOptions);
            }
        }
    }
}
