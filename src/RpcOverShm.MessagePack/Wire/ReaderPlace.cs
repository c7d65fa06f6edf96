using Google.Protobuf.Reflection;

namespace RpcOverShm.MessagePack.Wire;

/// <summary>Where a reader was before it entered a message inside another one.</summary>
internal readonly record struct ReaderPlace(MessageDescriptor? Message, int Field);
