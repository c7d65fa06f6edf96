using System.Security.Cryptography;
using System.Text;

namespace RpcOverShm.Links;

/// <summary>
/// A parsed <c>shm://</c> address; the only place with naming rules. <c>shm://name</c> stands for a file in the user's
/// runtime directory, <c>shm:///path</c> for the file of that path.
/// </summary>
internal sealed class RendezvousAddress
{
    private const string Scheme = "shm://";
    private const string PipeScheme = "net.pipe://";
    private const int MaxNameBytes = 200;

    // sockaddr_un holds 108 bytes with the terminating zero (unix(7)).
    private const int MaxPathBytes = 107;

    // 32 hexadecimal digits are half of the SHA-256, so two names do not collide by chance.
    private const int HashDigits = 32;

    /// <summary>The file name extension of the lock files.</summary>
    public const string LockSuffix = ".lock";

    private RendezvousAddress(string text, string socketPath, string lockPath)
    {
        Text = text;
        SocketPath = socketPath;
        LockPath = lockPath;
    }

    /// <summary>The address as the user wrote it.</summary>
    public string Text { get; }

    public string SocketPath { get; }

    /// <summary>The socket's path and the address, for messages.</summary>
    public string Name => $"'{SocketPath}' ({Text})";

    public string LockPath { get; }

    /// <summary>
    /// Whether the address is a name and not a path. If so, this library creates and checks its directory.
    /// </summary>
    public bool IsInRuntimeDirectory { get; private init; }

    /// <summary>The choice of the directory of a name; null if the user's options name it, and for a path.</summary>
    public DefaultDirectory? Default { get; private init; }

    /// <summary>Advice for a client that finds no server at a name; null for a path.</summary>
    public string? Advice => !IsInRuntimeDirectory
        ? null
        : Default is null
            ? "RuntimeDirectory is set here: it must be the same on both sides."
            : $"{Default.Reason}; a server that was started with another one listens elsewhere: "
                + "set RuntimeDirectory on both.";

    /// <summary>
    /// Checks an address and determines the paths of its files. Names resolve in the runtime directory; null stands for
    /// the default one. Accesses no other file.
    /// </summary>
    /// <param name="address">The text.</param>
    /// <param name="runtimeDirectory">The option RuntimeDirectory.</param>
    /// <param name="option">Its name with its group.</param>
    /// <exception cref="ArgumentException">
    /// The address is malformed or null, or the directory is not absolute; the message says what is allowed.
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

        if (runtimeDirectory is not null && !Path.IsPathFullyQualified(runtimeDirectory))
        {
            throw new ArgumentException(
                $"{option} is an absolute path, such as '/run/my-app', or null; not '{runtimeDirectory}', "
                + "which would depend on the current directory of each process.");
        }

        if (!address.StartsWith(Scheme, StringComparison.OrdinalIgnoreCase))
        {
            throw Malformed(address, "it does not start with 'shm://'" + Suggest(address));
        }

        string rest = address[Scheme.Length..];
        return rest.StartsWith('/')
            ? FromPath(address, rest)
            : runtimeDirectory is null
                ? FromName(address, rest, DefaultDirectory.Choose())
                : FromName(address, rest, runtimeDirectory);
    }

    /// <summary>
    /// Returns the address with the paths that it has now: the default directory depends on what the environment
    /// variables name.
    /// </summary>
    /// <exception cref="IOException">They are too long for the system.</exception>
    public RendezvousAddress Resolve()
    {
        if (Default?.ChooseAgain() is not { } now || now == Default)
        {
            return this;
        }

        try
        {
            return FromName(Text, Text[Scheme.Length..], now);
        }
        catch (ArgumentException exception)
        {
            throw new IOException(exception.Message, exception);
        }
    }

    public override string ToString() => Text;

    // Users of WCF have net.pipe addresses; the part after the host is the name.
    private static string Suggest(string address)
    {
        if (!address.StartsWith(PipeScheme, StringComparison.OrdinalIgnoreCase))
        {
            return "";
        }

        string name = string.Join('/', address[PipeScheme.Length..].Split('/').Skip(1)).Trim('/');
        bool isName = name.Length > 0 && !name.AsSpan().ContainsAnyExcept(RuntimeDirectory.NameCharsAndSlash);
        return $"; write '{Scheme}{(isName ? name : "name")}'";
    }

    private static RendezvousAddress FromPath(string address, string path)
    {
        if (path.Contains('\0') || path.EndsWith('/'))
        {
            throw Malformed(address, "the path must name a file");
        }

        int bytes = Encoding.UTF8.GetByteCount(path);
        return bytes <= MaxPathBytes
            ? new RendezvousAddress(address, path, path + LockSuffix)
            : throw Malformed(address, $"the path has {bytes} bytes and the system allows {MaxPathBytes}");
    }

    private static RendezvousAddress FromName(string address, string name, DefaultDirectory chosen) =>
        FromName(address, name, chosen.Directory, chosen);

    private static RendezvousAddress FromName(
        string address, string name, string runtimeDirectory, DefaultDirectory? chosen = null)
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

            int illegal = segment.AsSpan().IndexOfAnyExcept(RuntimeDirectory.NameChars);
            if (illegal >= 0)
            {
                throw Malformed(address, $"'{segment[illegal]}' is not allowed in a name");
            }
        }

        string directory = Path.GetFullPath(runtimeDirectory);

        // No name contains '+' or '~', so a name with '+' for '/', or a hashed one, never equals another name.
        string stem = Path.Combine(directory, name.Replace('/', '+'));
        if (Encoding.UTF8.GetByteCount(stem + RuntimeDirectory.SocketSuffix) > MaxPathBytes)
        {
            string hash = Convert.ToHexStringLower(SHA256.HashData(Encoding.UTF8.GetBytes(name)));
            stem = Path.Combine(directory, "~" + hash[..HashDigits]);
        }

        int bytes = Encoding.UTF8.GetByteCount(stem + RuntimeDirectory.SocketSuffix);
        return bytes <= MaxPathBytes
            ? new RendezvousAddress(address, stem + RuntimeDirectory.SocketSuffix, stem + LockSuffix)
            {
                IsInRuntimeDirectory = true,
                Default = chosen,
            }
            : throw new ArgumentException(
                $"The runtime directory '{directory}' is too long: "
                + $"a socket's path in it would have {bytes} bytes and the system allows {MaxPathBytes}.");
    }

    private static ArgumentException Malformed(string address, string why) => new(
        $"'{address}' is not an address: {why}. "
        + "Allowed are 'shm://name', where the name has segments of letters, digits, '.', '-' and '_', "
        + $"separated by '/', none empty, '.' or '..', at most {MaxNameBytes} characters in all; "
        + $"and 'shm:///absolute/path' with a path of at most {MaxPathBytes} bytes.",
        nameof(address));
}
