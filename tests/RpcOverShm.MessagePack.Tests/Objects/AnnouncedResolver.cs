using MessagePack;
using MessagePack.Formatters;

namespace RpcOverShm.MessagePack.Tests.Objects;

/// <summary>A resolver as the package's source generator makes it, named by an attribute of the assembly.</summary>
internal sealed class AnnouncedResolver : IFormatterResolver
{
    // MessagePack finds the field by its name.
    public static readonly IFormatterResolver Instance = new AnnouncedResolver();

    public IMessagePackFormatter<T>? GetFormatter<T>() =>
        typeof(T) == typeof(RuleSamples.Sourced) ? (IMessagePackFormatter<T>)(object)new SourcedFormatter() : null;

    private sealed class SourcedFormatter : RuleSamples.NilFormatter<RuleSamples.Sourced>;
}
