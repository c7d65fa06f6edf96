using System.Security.Cryptography;
using System.Text;
using RpcOverShm.Systems;

namespace RpcOverShm.Linux;

/// <summary>
/// An address as the path of a socket: <c>shm://name</c> stands for a file in the user's runtime directory,
/// <c>shm:///path</c> for the file of that path. Immutable.
/// </summary>
internal sealed class SocketAddress : RendezvousAddress
{
    // sockaddr_un holds 108 bytes with the terminating zero (unix(7)).
    private const int MaxPathBytes = 107;

    // 32 hexadecimal digits are half of the SHA-256, so two names do not collide by chance.
    private const int HashDigits = 32;

    /// <summary>The file name extension of the lock files.</summary>
    public const string LockSuffix = ".lock";

    /// <summary>The addresses that are allowed besides a name, as a part of a sentence.</summary>
    public static readonly string PathsAllowed =
        $"'shm:///absolute/path' with a path of at most {MaxPathBytes} bytes";

    private SocketAddress(string text, string socketPath, string lockPath)
        : base(text)
    {
        SocketPath = socketPath;
        LockPath = lockPath;
    }

    public string SocketPath { get; }

    public string LockPath { get; }

    public override string Place => SocketPath;

    /// <summary>
    /// Whether the address is a name and not a path. If so, this library creates and checks its directory.
    /// </summary>
    public bool IsInRuntimeDirectory { get; private init; }

    /// <summary>The choice of the directory of a name; null if the user's options name it, and for a path.</summary>
    public DefaultDirectory? Default { get; private init; }

    public override bool IsOfOwnUserOnly => Default is not null;

    /// <summary>Advice for a client that finds no server at a name; null for a path.</summary>
    public string? Advice => !IsInRuntimeDirectory
        ? null
        : Default is null
            ? "RuntimeDirectory is set here: it must be the same on both sides."
            : $"{Default.Reason}; a server that was started with another one listens elsewhere: "
                + "set RuntimeDirectory on both.";

    /// <summary>Checks the option RuntimeDirectory.</summary>
    /// <exception cref="ArgumentException">It is no absolute path.</exception>
    public static void CheckRuntimeDirectory(string? directory, string option)
    {
        if (directory is not null && !Path.IsPathFullyQualified(directory))
        {
            throw new ArgumentException(
                $"{option} is an absolute path, such as '/run/my-app', or null; not '{directory}', "
                + "which would depend on the current directory of each process.");
        }
    }

    public static SocketAddress OfPath(string address, string path)
    {
        if (path.Contains('\0') || path.EndsWith('/'))
        {
            throw Malformed(address, "the path must name a file");
        }

        int bytes = Encoding.UTF8.GetByteCount(path);
        return bytes <= MaxPathBytes
            ? new SocketAddress(address, path, path + LockSuffix)
            : throw Malformed(address, $"the path has {bytes} bytes and the system allows {MaxPathBytes}");
    }

    /// <summary>Returns the address of a name in a runtime directory; null stands for the default one.</summary>
    public static SocketAddress OfName(string address, string name, string? runtimeDirectory) =>
        runtimeDirectory is null
            ? OfName(address, name, DefaultDirectory.Choose())
            : OfName(address, name, runtimeDirectory, chosen: null);

    public override SocketAddress Resolve()
    {
        if (Default?.ChooseAgain() is not { } now || now == Default)
        {
            return this;
        }

        try
        {
            return OfName(Text, NameIn(Text), now);
        }
        catch (ArgumentException exception)
        {
            throw new IOException(exception.Message, exception);
        }
    }

    private static SocketAddress OfName(string address, string name, DefaultDirectory chosen) =>
        OfName(address, name, chosen.Directory, chosen);

    private static SocketAddress OfName(
        string address, string name, string runtimeDirectory, DefaultDirectory? chosen)
    {
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
            ? new SocketAddress(address, stem + RuntimeDirectory.SocketSuffix, stem + LockSuffix)
            {
                IsInRuntimeDirectory = true,
                Default = chosen,
            }
            : throw new ArgumentException(
                $"The runtime directory '{directory}' is too long: "
                + $"a socket's path in it would have {bytes} bytes and the system allows {MaxPathBytes}.");
    }
}
