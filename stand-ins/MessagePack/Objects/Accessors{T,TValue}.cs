using System.Linq.Expressions;
using System.Reflection;
using System.Runtime.CompilerServices;

namespace MessagePack.Objects;

/// <summary>Makes delegates of members: of properties by binding, of fields by compiling where that works.</summary>
internal static class Accessors<T, TValue>
{
    internal static Getter<T, TValue>? MakeGetter(MemberInfo member)
    {
        if (member is FieldInfo field)
        {
            return RuntimeFeature.IsDynamicCodeSupported
                ? CompileGetter(field)
                : (ref target) => (TValue)field.GetValue(target)!;
        }

        if (((PropertyInfo)member).GetMethod is not { IsPublic: true } method)
        {
            return null;
        }

        if (typeof(T).IsValueType)
        {
            return method.CreateDelegate<Getter<T, TValue>>();
        }

        Func<T, TValue> get = method.CreateDelegate<Func<T, TValue>>();
        return (ref target) => get(target);
    }

    internal static Setter<T, TValue>? MakeSetter(MemberInfo member)
    {
        if (member is FieldInfo field)
        {
            return field.IsInitOnly ? null
                : RuntimeFeature.IsDynamicCodeSupported ? CompileSetter(field)
                : (ref target, value) => SetSlowly(field, ref target, value);
        }

        if (((PropertyInfo)member).SetMethod is not { IsPublic: true } method)
        {
            return null;
        }

        if (typeof(T).IsValueType)
        {
            return method.CreateDelegate<Setter<T, TValue>>();
        }

        Action<T, TValue> set = method.CreateDelegate<Action<T, TValue>>();
        return (ref target, value) => set(target, value);
    }

    private static Getter<T, TValue> CompileGetter(FieldInfo field)
    {
        ParameterExpression target = Expression.Parameter(typeof(T).MakeByRefType());
        return Expression.Lambda<Getter<T, TValue>>(Expression.Field(target, field), target).Compile();
    }

    private static Setter<T, TValue> CompileSetter(FieldInfo field)
    {
        ParameterExpression target = Expression.Parameter(typeof(T).MakeByRefType());
        ParameterExpression value = Expression.Parameter(typeof(TValue));
        Expression body = Expression.Block(
            typeof(void), Expression.Assign(Expression.Field(target, field), value));
        return Expression.Lambda<Setter<T, TValue>>(body, target, value).Compile();
    }

    private static void SetSlowly(FieldInfo field, ref T target, TValue value)
    {
        object boxed = target!;
        field.SetValue(boxed, value);
        target = (T)boxed;
    }
}
