using System.Runtime.CompilerServices;
using MessagePack;
using MessagePack.Formatters;

namespace RpcOverShm.MessagePack.Objects;

/// <summary>The codec's rules for resolvers that read untrusted input.</summary>
internal static class ResolverRules
{
    /// <summary>Returns the reason why the codec refuses a resolver; null if the codec accepts it.</summary>
    public static string? WhatIsWrong(IFormatterResolver resolver)
    {
        if (TryGetFormatter<object>(resolver) is TypelessFormatter)
        {
            return "The resolver writes the names of types, which lets input choose what is made of it.";
        }

        // An arbitrary public class without attributes, for which no resolver has a special formatter.
        return TryGetFormatter<FileStreamOptions>(resolver) is null
            ? null
            : "The resolver takes classes without attributes, and so anything that is a class.";
    }

    /// <summary>Returns whether a resolver writes non-public types and members.</summary>
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
