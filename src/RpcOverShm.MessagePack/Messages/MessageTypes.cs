using System.Diagnostics.CodeAnalysis;
using Google.Protobuf;
using Google.Protobuf.Reflection;

namespace RpcOverShm.MessagePack.Messages;

/// <summary>Inspects generated types before their messages are written or read. Thread-safe.</summary>
internal static class MessageTypes
{
    /// <summary>Returns the descriptor of a generated type.</summary>
    /// <exception cref="NotSupportedException">The type was written by hand.</exception>
    [UnconditionalSuppressMessage(
        "Trimming", "IL2091", Justification = "The parser of a generated type refers to its constructor.")]
    public static MessageDescriptor DescriptorOf<T>()
    {
        try
        {
            MessageDescriptor descriptor = ((IMessage)Activator.CreateInstance<T>()!).Descriptor;
            return descriptor.ClrType == typeof(T)
                ? descriptor
                : throw new NotSupportedException($"{typeof(T)} was not generated, or is not the type it describes.");
        }
        catch (MissingMethodException exception)
        {
            throw new NotSupportedException(
                $"{typeof(T)} was not generated: the codec 'msgpack' can't make one.", exception);
        }
    }

    /// <summary>
    /// Returns whether the type is a well-known wrapper: in generated code, a value or null instead of a message.
    /// </summary>
    public static bool IsWrapper(MessageDescriptor type) =>
        ReferenceEquals(type.File, Google.Protobuf.WellKnownTypes.WrappersReflection.Descriptor);

    /// <summary>Checks that the codec supports a type and all types that its fields can contain.</summary>
    /// <exception cref="NotSupportedException">A type has a group or can be extended.</exception>
    public static void Check(MessageDescriptor type)
    {
        var seen = new HashSet<MessageDescriptor>();
        var pending = new Stack<MessageDescriptor>([type]);
        while (pending.TryPop(out MessageDescriptor? next))
        {
            if (!seen.Add(next))
            {
                continue;
            }

            CheckOne(next);
            foreach (FieldDescriptor field in next.Fields.InFieldNumberOrder())
            {
                if (field.FieldType is FieldType.Message)
                {
                    pending.Push(field.MessageType);
                }
            }
        }
    }

    private static void CheckOne(MessageDescriptor type)
    {
        if (type.ToProto().ExtensionRange.Count > 0)
        {
            throw new NotSupportedException(
                $"{type.FullName} can be extended, and the codec 'msgpack' would lose its extensions.");
        }

        foreach (FieldDescriptor field in type.Fields.InFieldNumberOrder())
        {
            // The descriptor's own FieldType reports a group as a message.
            if (field.ToProto().Type == FieldDescriptorProto.Types.Type.Group)
            {
                throw new NotSupportedException(
                    $"{field.FullName} is a group, which the codec 'msgpack' does not support; use a message instead.");
            }
        }
    }
}
