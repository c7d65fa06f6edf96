using Google.Protobuf.Reflection;
using RpcOverShm.Tool.Output;

namespace RpcOverShm.Tool.Reflection;

/// <summary>Finds what a user has named among what a server describes.</summary>
internal static class MethodSearch
{
    private static readonly char[] s_separators = ['.', '/'];

    /// <summary>
    /// Returns a method by its full name, with '/' or '.' before the method, or by the end of its name if only one
    /// method has that end.
    /// </summary>
    /// <exception cref="ToolException">There is none, or there are several.</exception>
    public static async Task<MethodDescriptor> FindMethodAsync(ReflectionClient reflection, string name)
    {
        IReadOnlyList<ServiceDescriptor> services = await reflection.GetServicesAsync().ConfigureAwait(false);
        MethodDescriptor[] all = [.. services.SelectMany(service => service.Methods)];
        string wanted = name.TrimStart('/');
        MethodDescriptor[] found = [.. all.Where(method => Same(NameOf(method), wanted))];
        if (found.Length == 0)
        {
            found = [.. all.Where(method => EndsWith(NameOf(method), wanted))];
        }

        return found switch
        {
            [{ } one] => one,
            [] => throw NotFound(name, all, reflection.Problems),
            _ => throw new ToolException(
                ExitCode.BadInput,
                $"Several methods are called '{name}': {string.Join(", ", found.Select(NameOf))}."),
        };
    }

    /// <summary>Returns a service, method, type or field by its full name.</summary>
    /// <exception cref="ToolException">There is none.</exception>
    public static async Task<IDescriptor> FindSymbolAsync(ReflectionClient reflection, string name)
    {
        string wanted = name.TrimStart('.', '/').Replace('/', '.');
        if (await reflection.TryLoadAsync(wanted).ConfigureAwait(false) is { } found)
        {
            return found;
        }

        IReadOnlyList<ServiceDescriptor> services = await reflection.GetServicesAsync().ConfigureAwait(false);
        string[] names = [.. reflection.Schema.Names];
        string[] ends = [.. names.Where(one => EndsWith(one, wanted))];
        if (ends.Length == 1)
        {
            return reflection.Schema.Find(ends[0])!;
        }

        string advice = ends.Length > 1
            ? $"Several names end so: {string.Join(", ", ends)}."
            : NearestNames.Find(wanted, names).FirstOrDefault() is { } near
                ? NearestNames.Advice(wanted, names, "")
                : $"Its services are {string.Join(", ", services.Select(service => service.FullName))}.";
        throw new ToolException(ExitCode.BadInput, $"The server describes no '{name}'. {advice}");
    }

    /// <summary>Returns the name of a method as calls have it: the service, '/', and the method.</summary>
    public static string NameOf(MethodDescriptor method) => $"{method.Service.FullName}/{method.Name}";

    private static ToolException NotFound(
        string name, MethodDescriptor[] all, IReadOnlyDictionary<string, ToolException> problems)
    {
        // It may be a method of a service that could not be described.
        string wanted = name.Replace('/', '.').TrimStart('.');
        if (problems.FirstOrDefault(
            one => all.Length == 0 || wanted.StartsWith(one.Key + ".", StringComparison.Ordinal))
            is { Key: not null } problem)
        {
            return new ToolException(problem.Value.Code, problem.Value.Message, problem.Value);
        }

        string[] names = [.. all.Select(NameOf)];
        if (names.Length == 0)
        {
            return new ToolException(ExitCode.BadInput, "The server describes no methods.");
        }

        // Who gives the method alone means the end of a name.
        string last = name.Split(s_separators)[^1];
        string[] near =
        [
            .. NearestNames.Find(name, names),
            .. NearestNames.Find(last, all.Select(method => method.Name))
                .SelectMany(one => all.Where(method => method.Name == one)).Select(NameOf),
        ];
        string advice = near.Length > 0
            ? $"Did you mean {string.Join(" or ", near.Distinct().Take(3).Select(one => $"'{one}'"))}?"
            : NearestNames.Advice(name, names, "Its methods are");
        return new ToolException(ExitCode.BadInput, $"The server has no method '{name}'. {advice}");
    }

    private static bool Same(string name, string wanted) =>
        name.Replace('/', '.').Equals(wanted.Replace('/', '.'), StringComparison.Ordinal);

    private static bool EndsWith(string name, string wanted) =>
        name.Replace('/', '.').EndsWith("." + wanted.Replace('/', '.'), StringComparison.OrdinalIgnoreCase);
}
