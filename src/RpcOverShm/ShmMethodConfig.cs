namespace RpcOverShm;

/// <summary>The settings of a group of methods; a part of a <see cref="ShmServiceConfig"/>.</summary>
/// <remarks>The channel reads it when it is created. Not thread-safe. Nothing to dispose.</remarks>
public sealed class ShmMethodConfig
{
    /// <summary>Gets the names of the methods that this config applies to; at least one.</summary>
    /// <remarks>
    /// The name of a method takes precedence over the name of its service, and that over
    /// <see cref="ShmMethodName.Default"/>. A name must occur only once in a service config.
    /// </remarks>
    public IList<ShmMethodName> Names { get; } = [];

    /// <summary>
    /// Gets or sets which failures are retried.
    /// <para>Null disables retries for these methods.</para>
    /// </summary>
    /// <remarks>Defaults to null.</remarks>
    public ShmRetryPolicy? RetryPolicy { get; set; }

    /// <summary>
    /// Gets or sets the time limit of each call of these methods; above zero.
    /// <para>
    /// Null sets no limit here, so <see cref="ShmChannelOptions.DefaultTimeout"/> applies.
    /// <see cref="System.Threading.Timeout.InfiniteTimeSpan"/> exempts the methods from that as well.
    /// </para>
    /// </summary>
    /// <remarks>
    /// Defaults to null. If a call also has a deadline, the earlier end wins, as in gRPC. The time begins with the call
    /// and covers the wait for a connection, all attempts of a retried call, and the whole of a stream. After it, the
    /// call fails with <see cref="Grpc.Core.StatusCode.DeadlineExceeded"/>. The server gets it as the call's deadline.
    /// </remarks>
    public TimeSpan? Timeout { get; set; }

    /// <summary>Returns the timeout, as it is.</summary>
    /// <exception cref="ArgumentException">It is neither above zero nor infinite.</exception>
    internal TimeSpan? ToTimeout(string path)
    {
        OptionRanges.Check(
            !(Timeout <= TimeSpan.Zero) || Timeout == System.Threading.Timeout.InfiniteTimeSpan,
            Timeout,
            $"{path}.{nameof(Timeout)}",
            "above zero or infinite",
            $"{nameof(ShmChannelOptions.DefaultTimeout)}");
        return Timeout;
    }

    /// <summary>Returns the names, as service and method.</summary>
    /// <exception cref="ArgumentException">There is none, one is null, or one has a method only.</exception>
    internal IEnumerable<string> ToNames(string path)
    {
        string names = $"{path}.{nameof(Names)}";
        if (Names.Count == 0)
        {
            throw new ArgumentException($"{names} is empty; {nameof(ShmMethodName)}.Default is for all methods.");
        }

        foreach (ShmMethodName? name in Names)
        {
            if (name is null)
            {
                throw new ArgumentException($"A name of {names} is null; remove it.");
            }

            if (string.IsNullOrEmpty(name.Service) && !string.IsNullOrEmpty(name.Method))
            {
                throw new ArgumentException($"The method '{name.Method}' of {names} has no service; name it.");
            }

            yield return $"{name.Service}/{name.Method}";
        }
    }
}
