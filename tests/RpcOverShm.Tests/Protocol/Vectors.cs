using System.Globalization;
using System.Text;

namespace RpcOverShm.Tests.Protocol;

/// <summary>
/// Golden bytes from a text file: a name and a colon, then lines of hexadecimal digits. Text after ';' and lines that
/// begin with '#' are comments.
/// </summary>
internal sealed class Vectors
{
    private readonly Dictionary<string, byte[]> _byName;

    private Vectors(Dictionary<string, byte[]> byName) => _byName = byName;

    public IReadOnlyCollection<string> Names => _byName.Keys;

    public IReadOnlyCollection<byte[]> All => [.. Names.Select(name => this[name])];

    /// <summary>Returns a copy, which a test may change.</summary>
    public byte[] this[string name] => _byName.TryGetValue(name, out byte[]? bytes)
        ? [.. bytes]
        : throw new ArgumentException($"There is no vector '{name}'.", nameof(name));

    public static Vectors Load(string file)
    {
        using Stream stream = typeof(Vectors).Assembly.GetManifestResourceStream($"Vectors/{file}")
            ?? throw new FileNotFoundException($"There is no file of vectors '{file}'.");
        using var reader = new StreamReader(stream);
        var digits = new Dictionary<string, StringBuilder>();
        StringBuilder? current = null;
        while (reader.ReadLine() is { } line)
        {
            string content = line.Split(';')[0].Trim();
            if (content.Length == 0 || content[0] == '#')
            {
                continue;
            }

            if (content[^1] == ':')
            {
                digits.Add(content[..^1], current = new StringBuilder());
            }
            else
            {
                current!.Append(content.Replace(" ", "", StringComparison.Ordinal));
            }
        }

        return new Vectors(
            digits.ToDictionary(entry => entry.Key, entry => Convert.FromHexString(entry.Value.ToString())));
    }

    /// <summary>Compares bytes with the vector; the failure message shows them in the format of the file.</summary>
    public void AssertIs(string name, ReadOnlySpan<byte> actual)
    {
        string shown = Show(actual);
        Assert.That(Show(this[name]), Is.EqualTo(shown), $"The bytes of '{name}' are a matter of the wire format.");
    }

    private static string Show(ReadOnlySpan<byte> bytes)
    {
        var text = new StringBuilder();
        for (int i = 0; i < bytes.Length; i++)
        {
            text.Append(i % 16 == 0 ? "\n    " : " ").Append(bytes[i].ToString("X2", CultureInfo.InvariantCulture));
        }

        return text.ToString();
    }
}
