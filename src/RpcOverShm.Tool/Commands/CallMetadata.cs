using Google.Protobuf;
using Grpc.Core;
using RpcOverShm.Tool.Output;

namespace RpcOverShm.Tool.Commands;

/// <summary>Metadata in the words of a command line.</summary>
internal static class CallMetadata
{
    /// <summary>Returns the metadata of the form <c>key=value</c>.</summary>
    /// <exception cref="ToolException">A text has another form.</exception>
    public static Metadata Parse(IEnumerable<string> texts)
    {
        var metadata = new Metadata();
        foreach (string text in texts)
        {
            string[] parts = text.Split('=', 2);
            if (parts.Length < 2 || parts[0].Length == 0)
            {
                throw new ToolException(ExitCode.BadInput, $"Metadata are key=value, such as user=ann; not '{text}'.");
            }

            metadata.Add(Entry(parts[0], parts[1], text));
        }

        return metadata;
    }

    /// <summary>Returns an entry as it is shown, in the form that <see cref="Parse"/> takes.</summary>
    public static string Describe(Metadata.Entry entry) =>
        $"{entry.Key}={ValueOf(entry)}";

    /// <summary>Returns the value of an entry, as base64 if it is of bytes.</summary>
    public static string ValueOf(Metadata.Entry entry) =>
        entry.IsBinary ? Convert.ToBase64String(entry.ValueBytes) : entry.Value;

    private static Metadata.Entry Entry(string key, string value, string text)
    {
        try
        {
            return key.EndsWith(Metadata.BinaryHeaderSuffix, StringComparison.OrdinalIgnoreCase)
                ? new Metadata.Entry(key, ByteString.FromBase64(value).ToByteArray())
                : new Metadata.Entry(key, value);
        }
        catch (FormatException exception)
        {
            throw new ToolException(
                ExitCode.BadInput, $"The value of '{key}' is base64, because the key ends with -bin.", exception);
        }
        catch (ArgumentException exception)
        {
            throw new ToolException(
                ExitCode.BadInput, $"'{text}' is no metadata: {exception.Message}", exception);
        }
    }
}
