using System.Runtime.CompilerServices;
using MessagePack;
using MessagePack.Formatters;

namespace RpcOverShm.MessagePack.Objects;

/// <summary>Rules for the resolvers that may read what a peer has sent.</summary>
internal static class ResolverRules
{
    /// <summary>The reason why the codec does not take a resolver; null if it does.</summary>
    public static string? WhatIsWrong(IFormatterResolver resolver)
    {
        if (TryGetFormatter<object>(resolver) is TypelessFormatter)
        {
            return "The resolver writes the names of types, which lets input choose what is made of it.";
        }

        // A public class without attributes, of which no resolver makes anything special.
        return TryGetFormatter<FileStreamOptions>(resolver) is null
            ? null
            : "The resolver takes classes without attributes, and so anything that is a class.";
    }

    /// <summary>True for a resolver that writes types and members that are not public.</summary>
    public static bool AllowsPrivate(IFormatterResolver resolver) =>
        RuntimeFeature.IsDynamicCodeSupported && TryGetFormatter<Hidden>(resolver) is not null;

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

    [MessagePackObject]
    internal sealed class Hidden;
}
