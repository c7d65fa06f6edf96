using RpcOverShm.Segments;

namespace RpcOverShm;

/// <summary>Finds the users and groups that options name.</summary>
internal static class OptionAccounts
{
    /// <exception cref="ArgumentException">There is no such user.</exception>
    public static IReadOnlyList<uint> Users(IList<string> users, string option) => users.Count == 0
        ? []
        : [.. users.Select(user => Find(user, "user", option, SystemAccounts.FindUser)).Distinct()];

    /// <exception cref="ArgumentException">There is no such group.</exception>
    public static uint? Group(string? group, string option) =>
        group is null ? null : Find(group, "group", option, SystemAccounts.FindGroup);

    private static uint Find(string? name, string kind, string option, Func<string, uint?> find)
    {
        string need = $"{option} takes the names or numbers (0 to 4294967294) of {kind}s of this system";
        if (string.IsNullOrEmpty(name))
        {
            throw new ArgumentException($"{need}; {(name is null ? "null" : "an empty text")} is neither.");
        }

        // Without a transport nobody is let in: the start of a server, or a connect, throws.
        if (!OperatingSystem.IsLinux())
        {
            return 0;
        }

        try
        {
            return find(name) ?? throw new ArgumentException($"{need}; there is no {kind} '{name}'.");
        }
        catch (IOException exception)
        {
            throw new ArgumentException($"{need}; '{name}' cannot be looked up: {exception.Message}", exception);
        }
    }
}
