using System.Runtime.CompilerServices;
using Google.Protobuf;
using Google.Protobuf.Reflection;

namespace RpcOverShm.MessagePack.Messages;

/// <summary>
/// The code of a generated message type: compiled when the type is first used, or based on the descriptor if code
/// cannot be compiled. Compiled code refers to other types through these fields, so types may be recursive.
/// Thread-safe.
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

    /// <summary>Creates the slower code that uses the descriptor; tests compare the compiled code with it.</summary>
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
