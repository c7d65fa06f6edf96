using MessagePack;

namespace RpcOverShm.MessagePack;

/// <summary>Which resolvers may read what a peer has sent.</summary>
internal static class ResolverRules
{
    private const string TypelessFormatter = "TypelessFormatter";

    /// <summary>What is wrong with a resolver; null for nothing.</summary>
    public static string? WhatIsWrong(IFormatterResolver resolver)
    {
        // By name: a package that lacks it can't be named.
        if (TryGetFormatter<object>(resolver)?.GetType().Name == TypelessFormatter)
        {
            return "The resolver writes the names of types, which lets input choose what is made of it.";
        }

        // A public class without attributes, of which no resolver makes anything special.
        return TryGetFormatter<FileStreamOptions>(resolver) is null
            ? null
            : "The resolver takes classes without attributes, and so anything that is a class.";
    }

    private static object? TryGetFormatter<T>(IFormatterResolver resolver)
    {
        try
        {
            return resolver.GetFormatter<T>();
        }
        catch (Exception exception) when (exception is MessagePackSerializationException or TypeInitializationException)
        {
            return null;
        }
    }
}
