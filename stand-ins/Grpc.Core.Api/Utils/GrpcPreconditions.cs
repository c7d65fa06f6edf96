namespace Grpc.Core.Utils;

public static class GrpcPreconditions
{
    public static void CheckArgument(bool condition)
    {
        if (!condition)
        {
            throw new ArgumentException();
        }
    }

    public static void CheckArgument(bool condition, string errorMessage)
    {
        if (!condition)
        {
            throw new ArgumentException(errorMessage);
        }
    }

    public static T CheckNotNull<T>(T reference) => reference is null ? throw new ArgumentNullException() : reference;

    public static T CheckNotNull<T>(T reference, string paramName) =>
        reference is null ? throw new ArgumentNullException(paramName) : reference;

    public static void CheckState(bool condition)
    {
        if (!condition)
        {
            throw new InvalidOperationException();
        }
    }

    public static void CheckState(bool condition, string errorMessage)
    {
        if (!condition)
        {
            throw new InvalidOperationException(errorMessage);
        }
    }
}
