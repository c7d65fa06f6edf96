using MessagePack;
using MessagePack.Formatters;

namespace RpcOverShm.MessagePack.Tests.Objects;

/// <summary>A resolver as the package's source generator makes it: the assembly's attribute names it.</summary>
internal sealed class AnnouncedResolver : IFormatterResolver
{
    // Found by its name.
    public static readonly IFormatterResolver Instance = new AnnouncedResolver();

    public IMessagePackFormatter<T>? GetFormatter<T>() =>
        typeof(T) == typeof(RuleSamples.Sourced) ? (IMessagePackFormatter<T>)(object)new SourcedFormatter() : null;

    private sealed class SourcedFormatter : RuleSamples.NilFormatter<RuleSamples.Sourced>;
}
