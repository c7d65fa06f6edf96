namespace Grpc.Core.Api.Tests.Fakes;

/// <summary>
/// What a transport gives to a call object, in both forms: as closures, which these instance members are, and as
/// functions of a state, which is then this object.
/// </summary>
internal sealed class CallFunctions
{
    private readonly Metadata _trailers = [];
    private readonly Status _status = new(StatusCode.Aborted, "fake");
    private int _disposals;

    internal Task<Metadata> Headers { get; } = Task.FromResult(new Metadata());

    internal static Task<Metadata> HeadersOf(object state) => ((CallFunctions)state).Headers;

    internal static Status StatusOf(object state) => ((CallFunctions)state).GetStatus();

    internal static Metadata TrailersOf(object state) => ((CallFunctions)state).GetTrailers();

    internal static void DisposeOf(object state) => ((CallFunctions)state).Dispose();

    internal Status GetStatus() => _status;

    internal Metadata GetTrailers() => _trailers;

    internal void Dispose() => _disposals++;

    internal void AssertUsedBy(
        Func<Task<Metadata>> headers,
        Func<Status> status,
        Func<Metadata> trailers,
        Action dispose)
    {
        Assert.That(headers(), Is.SameAs(Headers));
        Assert.That(status(), Is.EqualTo(_status));
        Assert.That(trailers(), Is.SameAs(_trailers));

        Assert.That(_disposals, Is.Zero);
        dispose();
        Assert.That(_disposals, Is.EqualTo(1));
    }
}
