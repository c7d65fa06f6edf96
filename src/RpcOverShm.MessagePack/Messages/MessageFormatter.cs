using System.Runtime.CompilerServices;
using Google.Protobuf;
using Google.Protobuf.Reflection;

namespace RpcOverShm.MessagePack.Messages;

/// <summary>
/// How messages of a generated type are written and read: compiled for the type when it is first used, or by its
/// descriptor where code can't be compiled. Types name each other here, by these fields, and not when they are
/// compiled: so they may be recursive. Thread-safe.
/// </summary>
internal static class MessageFormatter<T>
    where T : class
{
    public static readonly MessageDescriptor Descriptor = MessageTypes.DescriptorOf<T>();

    public static readonly MessageCode<T> Code = Make();

    public static readonly Func<T> Create = Code.Create;
    public static readonly Func<T, long> Size = Code.Size;
    public static readonly WriteMessage<T> Write = Code.Write;
    public static readonly MergeMessage<T> Merge = Code.Merge;

    /// <summary>The way of the descriptor: slower, and what the tests compare the compiled way with.</summary>
    public static MessageCode<T> ByDescriptor()
    {
        DescribedMessage described = DescribedMessage.Of(Descriptor);
        return new MessageCode<T>(
            () => (T)described.Create(),
            message => described.Size((IMessage)message),
            (ref writer, message) => described.Write(ref writer, (IMessage)message),
            (ref reader, message) => described.Merge(ref reader, (IMessage)message));
    }

    private static MessageCode<T> Make() =>
        RuntimeFeature.IsDynamicCodeCompiled && MessageCompiler.TryCompile<T>(Descriptor) is { } compiled
            ? compiled
            : ByDescriptor();
}
