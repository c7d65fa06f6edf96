using System.Buffers;
using System.Text;
using System.Text.Json;

namespace RpcOverShm.Tool.Json;

/// <summary>
/// The JSON values of a text, one after another. A value is returned with the line that completes it, so that a person
/// or a program may type one, wait for an answer, and type the next. For one reader at a time.
/// </summary>
internal sealed class JsonMessages(TextReader reader)
{
    /// <summary>The number of lists and objects that may be nested.</summary>
    public const int MaxDepth = 4 * FieldPath.MaxDepth;

    private static readonly JsonReaderOptions s_options = new() { MaxDepth = MaxDepth };

    private readonly ArrayBufferWriter<byte> _pending = new(); // what no value has taken yet
    private JsonReaderState _state = new(s_options);
    private int _scanned; // the bytes of it that are whole tokens of an incomplete value
    private int _line;

    /// <summary>Returns the next value; null at the end of the text.</summary>
    /// <exception cref="JsonInputException">The text is no JSON; the message names the line.</exception>
    public async Task<JsonElement?> ReadAsync(CancellationToken cancellationToken)
    {
        while (true)
        {
            if (TryTake() is { } value)
            {
                return value;
            }

            if (await reader.ReadLineAsync(cancellationToken).ConfigureAwait(false) is not { } line)
            {
                return _pending.WrittenSpan.ContainsAnyExcept(" \t\r\n"u8)
                    ? throw new JsonInputException($"line {_line}: the JSON ends within a message")
                    : null;
            }

            _line++;
            _pending.Write(Encoding.UTF8.GetBytes(line + "\n"));
        }
    }

    private JsonElement? TryTake()
    {
        var json = new Utf8JsonReader(_pending.WrittenSpan[_scanned..], isFinalBlock: false, _state);
        try
        {
            while (json.Read())
            {
                CheckText(ref json);
                if (json.CurrentDepth == 0
                    && json.TokenType is not (JsonTokenType.StartObject or JsonTokenType.StartArray))
                {
                    return Take(_scanned + (int)json.BytesConsumed);
                }
            }
        }
        catch (Exception exception) when (exception is JsonException or InvalidOperationException)
        {
            // The reader counts lines from where it began.
            string problem = exception.Message.Split(" LineNumber:")[0];
            throw new JsonInputException($"line {_line}: this is no JSON: {problem}", exception);
        }

        _scanned += (int)json.BytesConsumed;
        _state = json.CurrentState;
        return null;
    }

    private JsonElement Take(int length)
    {
        var options = new JsonDocumentOptions { MaxDepth = MaxDepth };
        using var document = JsonDocument.Parse(_pending.WrittenMemory[..length], options);
        JsonElement value = document.RootElement.Clone();
        byte[] rest = _pending.WrittenSpan[length..].ToArray();
        _pending.ResetWrittenCount();
        _pending.Write(rest);
        _scanned = 0;
        _state = new JsonReaderState(s_options);
        return value;
    }

    // Half of a surrogate pair can be escaped but is no text, and later code could not say where it stands.
    private static void CheckText(ref Utf8JsonReader json)
    {
        if (json.ValueIsEscaped)
        {
            _ = json.GetString();
        }
    }
}
