namespace RpcOverShm.Loans;

/// <summary>The limits of data files, in bytes.</summary>
/// <param name="PerConnection">Of the files that one side makes for a connection; and of those that it maps.</param>
/// <param name="PerProcess">Of all files that this process has made and mapped.</param>
internal sealed record LoanLimits(long PerConnection, long PerProcess)
{
    /// <summary>The public option for a connection.</summary>
    public const string ConnectionOption = "Loans.MaxConnectionSize";

    /// <summary>The public option for the process.</summary>
    public const string ProcessOption = "Loans.MaxSize";
}
