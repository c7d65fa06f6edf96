namespace Grpc.Core.Api.Tests.Fakes;

/// <summary>Notes what call credentials say of themselves.</summary>
internal sealed class RecordingCallCredentialsConfigurator : CallCredentialsConfiguratorBase
{
    internal object? State { get; private set; }

    internal AsyncAuthInterceptor? Interceptor { get; private set; }

    internal IReadOnlyList<CallCredentials>? Parts { get; private set; }

    public override void SetAsyncAuthInterceptorCredentials(object? state, AsyncAuthInterceptor interceptor)
    {
        State = state;
        Interceptor = interceptor;
    }

    public override void SetCompositeCredentials(object? state, IReadOnlyList<CallCredentials> credentials)
    {
        State = state;
        Parts = credentials;
    }
}
