namespace RpcOverShm.FunctionalTests;

/// <summary>An exception of users' code that itself throws when it is asked what it means.</summary>
internal sealed class UnspeakableException : Exception
{
    public override string Message => throw new NotSupportedException("The words are missing too.");
}
