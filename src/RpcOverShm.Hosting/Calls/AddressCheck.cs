using System.Diagnostics.CodeAnalysis;

namespace RpcOverShm.Hosting.Calls;

/// <summary>Checks that there is an address at all; the rest is checked when it is used.</summary>
internal static class AddressCheck
{
    private const string Advice =
        "An address is such as shm://name. If it comes from the configuration, its key is missing there.";

    /// <exception cref="ArgumentException">The address is null or empty.</exception>
    public static void ThrowIfMissing([NotNull] string? address)
    {
        if (string.IsNullOrEmpty(address))
        {
            throw address is null
                ? new ArgumentNullException(nameof(address), $"The address is null. {Advice}")
                : new ArgumentException($"The address is empty. {Advice}", nameof(address));
        }
    }
}
