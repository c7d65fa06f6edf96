using System.Collections.ObjectModel;
using System.Reflection;

namespace RpcOverShm.Testing.Surface;

/// <summary>
/// Reads the compiler's nullability flags of one type in a signature, in the order in which its type arguments are
/// visited: 0 oblivious, 1 not null, 2 nullable. A single flag stands for all of them.
/// </summary>
public sealed class NullableFlags
{
    private const string FlagsAttribute = "System.Runtime.CompilerServices.NullableAttribute";
    private const string ContextAttribute = "System.Runtime.CompilerServices.NullableContextAttribute";

    private readonly byte[] _flags;
    private int _next;

    private NullableFlags(byte[] flags)
    {
        _flags = flags;
    }

    /// <summary>The flags of types that cannot be nullable: base types and interfaces.</summary>
    public static NullableFlags None { get; } = new([0]);

    /// <summary>Returns the flags of the element, or else the context flag of the member or type around it.</summary>
    public static NullableFlags Of(IList<CustomAttributeData> attributes, MemberInfo surroundings)
    {
        return new NullableFlags(Find(attributes, FlagsAttribute) ?? [ContextOf(surroundings)]);
    }

    public static NullableFlags Of(ParameterInfo parameter)
    {
        return Of(parameter.GetCustomAttributesData(), parameter.Member);
    }

    public bool NextIsNullable() => (_flags.Length == 1 ? _flags[0] : _flags[_next++]) == 2;

    private static byte ContextOf(MemberInfo? member)
    {
        if (member is null)
        {
            return 0;
        }

        // The compiler puts a context on methods and types, but never on properties or fields.
        var context = Find(member.GetCustomAttributesData(), ContextAttribute);
        return context?[0] ?? ContextOf(member.DeclaringType);
    }

    private static byte[]? Find(IList<CustomAttributeData> attributes, string name)
    {
        var found = attributes.FirstOrDefault(attribute => attribute.AttributeType.FullName == name);
        return found?.ConstructorArguments[0].Value switch
        {
            byte one => [one],
            ReadOnlyCollection<CustomAttributeTypedArgument> many => [.. many.Select(flag => (byte)flag.Value!)],
            _ => null,
        };
    }
}
