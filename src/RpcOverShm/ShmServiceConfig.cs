using RpcOverShm.Clients;

namespace RpcOverShm;

/// <summary>
/// The settings of the methods that a channel calls: gRPC's service config (doc/service_config.md of gRPC).
/// </summary>
/// <remarks>
/// Contains the parts of gRPC's config that apply to a single server. The channel reads it when it is created; later
/// changes have no effect. Not thread-safe. Nothing to dispose.
/// </remarks>
public sealed class ShmServiceConfig
{
    /// <summary>Gets the configs of methods.</summary>
    /// <remarks>Empty by default.</remarks>
    public IList<ShmMethodConfig> MethodConfigs { get; } = [];

    /// <summary>
    /// Gets or sets the throttling of retries while most calls fail.
    /// <para>Null disables throttling.</para>
    /// </summary>
    /// <remarks>Defaults to null.</remarks>
    public ShmRetryThrottling? RetryThrottling { get; set; }

    /// <summary>Returns a value of each method config by its names; see <see cref="MethodNames"/>.</summary>
    /// <param name="path">The option that has this config.</param>
    /// <param name="read">Reads the value from a method config with its path.</param>
    /// <exception cref="ArgumentException">A config is null, or its names are not allowed.</exception>
    internal Dictionary<string, T> ByName<T>(string path, Func<ShmMethodConfig, string, T> read)
    {
        var values = new Dictionary<string, T>(StringComparer.Ordinal);
        foreach ((int index, ShmMethodConfig? method) in MethodConfigs.Index())
        {
            string own = $"{path}.{nameof(MethodConfigs)}[{index}]";
            if (method is null)
            {
                throw new ArgumentException($"{own} is null; remove it.");
            }

            T value = read(method, own);
            foreach (string name in method.ToNames(own))
            {
                if (!values.TryAdd(name, value))
                {
                    throw new ArgumentException($"{own} names '{name}' twice, or after another one; remove one.");
                }
            }
        }

        return values;
    }
}
