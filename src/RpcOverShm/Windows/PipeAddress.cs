using System.Buffers;
using System.Runtime.Versioning;
using System.Security.Cryptography;
using System.Text;
using RpcOverShm.Systems;

namespace RpcOverShm.Windows;

/// <summary>
/// An address as the name of a pipe: <c>shm://name</c> stands for a pipe whose name has the user's SID, and
/// <c>shm:///path</c> for the pipe of that name. Immutable.
/// </summary>
[SupportedOSPlatform("windows")]
internal sealed class PipeAddress : RendezvousAddress
{
    private const string Root = @"\\.\pipe\";
    private const string OwnRoot = Root + @"rpcovershm\";
    private const int MostChars = 247; // of the whole name, as the system's file functions take it

    // 32 hexadecimal digits are half of the SHA-256, so two names do not collide by chance.
    private const int HashDigits = 32;

    // The system has no such characters in names, or takes them for something else.
    private static readonly SearchValues<char> s_refused = SearchValues.Create("\\:*?\"<>|");

    /// <summary>The addresses that are allowed besides a name, as a part of a sentence.</summary>
    public static readonly string PathsAllowed =
        $@"'shm:///some/name', which stands for the pipe '{Root}some\name', with at most {MostChars} characters in all "
        + "and none of \\ : * ? \" < > |";

    private PipeAddress(string text, string place, bool isName)
        : base(text)
    {
        Place = place;
        IsName = isName;
    }

    public override string Place { get; }

    /// <summary>Whether the address is a name and not a path.</summary>
    public bool IsName { get; }

    /// <summary>Checks the option RuntimeDirectory, which has no counterpart here.</summary>
    /// <exception cref="ArgumentException">It is set.</exception>
    public static void CheckRuntimeDirectory(string? directory, string option)
    {
        if (directory is not null)
        {
            throw new ArgumentException(
                $"{option} is '{directory}', and on Windows an address is a named pipe, which is in no directory. "
                + "Leave it null; an address such as 'shm:///name' names the pipe itself.");
        }
    }

    public static PipeAddress OfName(string text, string name)
    {
        // No name contains '+' or '~', so a name with '+' for '/', or a hashed one, never equals another name. The
        // system drops dots at the end.
        string root = OwnRoot + WindowsSystem.OwnSid + @"\";
        string stem = name.Replace('/', '+') + (name.EndsWith('.') ? "+" : "");
        if (root.Length + stem.Length > MostChars)
        {
            stem = "~" + Convert.ToHexStringLower(SHA256.HashData(Encoding.UTF8.GetBytes(name)))[..HashDigits];
        }

        return new PipeAddress(text, root + stem, isName: true);
    }

    public static PipeAddress OfPath(string text, string path)
    {
        string name = path[1..];
        int refused = name.AsSpan().IndexOfAny(s_refused);
        if (refused >= 0)
        {
            throw Malformed(text, $"'{name[refused]}' is not allowed in the name of a pipe");
        }

        if (name.Any(char.IsControl))
        {
            throw Malformed(text, "a control character is not allowed in the name of a pipe");
        }

        // The system would change such a segment, so that two addresses were one pipe.
        if (name.Split('/').Any(static segment => segment.Length == 0 || segment[^1] is '.' or ' '))
        {
            throw Malformed(text, "a segment of the pipe's name is empty, or ends with a dot or space");
        }

        string place = Root + name.Replace('/', '\\');
        return place.Length <= MostChars
            ? new PipeAddress(text, place, isName: false)
            : throw Malformed(
                text, $"the pipe's name has {place.Length} characters and the system allows {MostChars}");
    }
}
