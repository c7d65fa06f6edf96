using System.Text;

namespace Grpc.Core.Api.Utils;

/// <summary>Reads text from memory of the C core. Grpc.Core binds to it by this name.</summary>
internal static class EncodingExtensions
{
    internal static unsafe string GetString(this Encoding encoding, IntPtr ptr, int len)
    {
        return encoding.GetString(new ReadOnlySpan<byte>((void*)ptr, len));
    }
}
