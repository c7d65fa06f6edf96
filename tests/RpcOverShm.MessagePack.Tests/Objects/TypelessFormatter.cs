namespace RpcOverShm.MessagePack.Tests.Objects;

/// <summary>Has the name of the package's own that writes the names of types.</summary>
internal sealed class TypelessFormatter : NoFormatter<object>;
