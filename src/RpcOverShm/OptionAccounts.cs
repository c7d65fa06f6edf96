using RpcOverShm.Systems;

namespace RpcOverShm;

/// <summary>Finds the users and groups that options name.</summary>
internal static class OptionAccounts
{
    /// <exception cref="ArgumentException">There is no such user.</exception>
    public static IReadOnlyList<Account> Users(IList<string> users, string option) => users.Count == 0
        ? []
        : [.. users.Select(user => Find(user, "user", option, HostSystem.Current.FindUser)).Distinct()];

    /// <exception cref="ArgumentException">There is no such group.</exception>
    public static Account? Group(string? group, string option) =>
        group is null ? null : Find(group, "group", option, HostSystem.Current.FindGroup);

    private static Account Find(string? name, string kind, string option, Func<string, Account?> find)
    {
        string need = $"{option} takes {HostSystem.Current.AccountsAllowed} of {kind}s of this system";
        if (string.IsNullOrEmpty(name))
        {
            throw new ArgumentException($"{need}; {(name is null ? "null" : "an empty text")} is neither.");
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
