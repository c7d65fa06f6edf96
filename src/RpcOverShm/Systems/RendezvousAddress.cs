using System.Buffers;

namespace RpcOverShm.Systems;

/// <summary>
/// A parsed <c>shm://</c> address: <c>shm://name</c> stands for a place that belongs to the user, and
/// <c>shm:///path</c> for one of which the user knows the name in the system. The rules of names are here; what they
/// stand for is the system's.
/// </summary>
/// <param name="text">The address as the user wrote it.</param>
internal abstract class RendezvousAddress(string text)
{
    private const string Scheme = "shm://";
    private const string PipeScheme = "net.pipe://";
    private const string NameLetters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789.-_";
    private const int MaxNameBytes = 200;

    /// <summary>The characters that are allowed in a segment of a name.</summary>
    public static SearchValues<char> NameChars { get; } = SearchValues.Create(NameLetters);

    /// <summary>The characters that are allowed in a name.</summary>
    public static SearchValues<char> NameCharsAndSlash { get; } = SearchValues.Create(NameLetters + "/");

    /// <summary>The address as the user wrote it.</summary>
    public string Text => text;

    /// <summary>The thing in the system that the address stands for: the path of a socket, or a pipe.</summary>
    public abstract string Place { get; }

    /// <summary>Whether no other user can reach the place, whatever the options say.</summary>
    public virtual bool IsOfOwnUserOnly => false;

    /// <summary>The place and the address, for messages.</summary>
    public string Name => $"'{Place}' ({Text})";

    /// <summary>
    /// Checks an address and determines its place. Accesses no file but the environment's.
    /// </summary>
    /// <param name="address">The text.</param>
    /// <param name="runtimeDirectory">The option RuntimeDirectory.</param>
    /// <param name="option">Its name with its group.</param>
    /// <exception cref="ArgumentException">
    /// The address is malformed or null, or the directory is; the message says what is allowed.
    /// </exception>
    public static RendezvousAddress Parse(
        string address, string? runtimeDirectory, string option = "RuntimeDirectory")
    {
        if (address is null)
        {
            throw new ArgumentNullException(
                nameof(address),
                "The address is null. An address is such as shm://name. If it comes from the configuration, its key is "
                + "missing there.");
        }

        HostSystem.Current.CheckRuntimeDirectory(runtimeDirectory, option);
        if (!address.StartsWith(Scheme, StringComparison.OrdinalIgnoreCase))
        {
            throw Malformed(address, "it does not start with 'shm://'" + Suggest(address));
        }

        string rest = address[Scheme.Length..];
        if (rest.StartsWith('/'))
        {
            return HostSystem.Current.AddressOfPath(address, rest);
        }

        CheckName(address, rest);
        return HostSystem.Current.AddressOfName(address, rest, runtimeDirectory);
    }

    /// <summary>Returns the address with the place that it has now, which may depend on the environment.</summary>
    /// <exception cref="IOException">The system does not allow that place.</exception>
    public virtual RendezvousAddress Resolve() => this;

    public override string ToString() => Text;

    /// <summary>Returns the exception for an address that is not one.</summary>
    public static ArgumentException Malformed(string address, string why) => new(
        $"'{address}' is not an address: {why}. "
        + "Allowed are 'shm://name', where the name has segments of letters, digits, '.', '-' and '_', "
        + $"separated by '/', none empty, '.' or '..', at most {MaxNameBytes} characters in all; "
        + $"and {HostSystem.Current.PathsAllowed}.",
        nameof(address));

    /// <summary>The name in an address without a path.</summary>
    protected static string NameIn(string text) => text[Scheme.Length..];

    private static void CheckName(string address, string name)
    {
        if (name.Length > MaxNameBytes)
        {
            throw Malformed(address, $"the name has {name.Length} characters and at most {MaxNameBytes} are allowed");
        }

        foreach (string segment in name.Split('/'))
        {
            if (segment is "" or "." or "..")
            {
                throw Malformed(address, segment.Length == 0 ? "a segment is empty" : $"a segment is '{segment}'");
            }

            int illegal = segment.AsSpan().IndexOfAnyExcept(NameChars);
            if (illegal >= 0)
            {
                throw Malformed(address, $"'{segment[illegal]}' is not allowed in a name");
            }
        }
    }

    // Users of WCF have net.pipe addresses; the part after the host is the name.
    private static string Suggest(string address)
    {
        if (!address.StartsWith(PipeScheme, StringComparison.OrdinalIgnoreCase))
        {
            return "";
        }

        string name = string.Join('/', address[PipeScheme.Length..].Split('/').Skip(1)).Trim('/');
        bool isName = name.Length > 0 && !name.AsSpan().ContainsAnyExcept(NameCharsAndSlash);
        return $"; write '{Scheme}{(isName ? name : "name")}'";
    }
}
