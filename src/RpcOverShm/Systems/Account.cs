using System.Globalization;
using System.Security.Claims;

namespace RpcOverShm.Systems;

/// <summary>A user or group: a number on Linux, a SID on Windows.</summary>
internal readonly record struct Account
{
    private readonly string? _sid;

    /// <summary>The account of a number.</summary>
    public Account(uint number) => Number = number;

    /// <summary>The account of a SID in its text form.</summary>
    public Account(string sid) => _sid = sid;

    /// <summary>The number; 0 if the account has a SID.</summary>
    public uint Number { get; }

    /// <summary>The type of its value in a claim.</summary>
    public string ClaimValueType => _sid is null ? ClaimValueTypes.UInteger32 : ClaimValueTypes.Sid;

    public static implicit operator Account(uint number) => new(number);

    /// <summary>The number or SID.</summary>
    public override string ToString() => _sid ?? Number.ToString(CultureInfo.InvariantCulture);
}
