using System.Text;
using Grpc.Core;

namespace RpcOverShm.Tool.Output;

/// <summary>The names of gRPC's status codes, as its documents have them.</summary>
internal static class StatusNames
{
    /// <summary>Returns a name such as <c>NOT_FOUND</c>; the number of a code that gRPC does not have.</summary>
    public static string Of(StatusCode code)
    {
        string name = code.ToString();
        if (code == StatusCode.OK)
        {
            return name;
        }

        var spelled = new StringBuilder();
        foreach ((int index, char letter) in name.Index())
        {
            spelled.Append(char.IsUpper(letter) && index > 0 ? "_" : "").Append(char.ToUpperInvariant(letter));
        }

        return spelled.ToString();
    }
}
