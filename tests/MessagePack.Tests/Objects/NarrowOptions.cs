using MessagePack.Resolvers;

namespace MessagePack.Tests.Objects;

/// <summary>Options of one's own that do not say how to copy them.</summary>
internal sealed class NarrowOptions() : MessagePackSerializerOptions(StandardResolver.Instance);
