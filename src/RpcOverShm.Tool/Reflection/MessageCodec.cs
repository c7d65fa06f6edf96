using System.Text;
using System.Text.Encodings.Web;
using System.Text.Json;
using Google.Protobuf;
using Google.Protobuf.Reflection;
using Grpc.Core;
using RpcOverShm.Tool.Json;
using RpcOverShm.Tool.Output;

namespace RpcOverShm.Tool.Reflection;

/// <summary>
/// Turns JSON into messages and back. Types that an Any names are asked of the server when they are met. Thread-safe.
/// </summary>
internal sealed class MessageCodec : IDisposable
{
    // Readable text: JSON goes to a terminal or a program here, never into a page.
    private static readonly JsonWriterOptions s_compact =
        new() { Encoder = JavaScriptEncoder.UnsafeRelaxedJsonEscaping, SkipValidation = false };

    private readonly ReflectionClient _reflection;
    private readonly MessageEncoder _encoder;
    private readonly MessageDecoder _decoder;
    private readonly SemaphoreSlim _turn = new(1); // requests and responses of one call may meet new types at once

    public MessageCodec(ReflectionClient reflection, bool writesDefaults)
    {
        _reflection = reflection;
        _encoder = new MessageEncoder(reflection.Schema.FindMessage);
        _decoder = new MessageDecoder(reflection.Schema.FindMessage, writesDefaults);
    }

    /// <summary>Returns the bytes of a message.</summary>
    /// <exception cref="JsonInputException">The JSON does not fit the type.</exception>
    public Task<byte[]> EncodeAsync(JsonElement json, MessageDescriptor type) =>
        InTurnAsync(() => EncodeWithTypesAsync(json, type));

    /// <summary>Returns the JSON of a message.</summary>
    /// <exception cref="WireFormatException">The bytes have no JSON.</exception>
    public Task<string> DecodeAsync(byte[] bytes, MessageDescriptor type, bool isIndented) =>
        InTurnAsync(() => DecodeWithTypesAsync(bytes, type, isIndented));

    public void Dispose() => _turn.Dispose();

    private async Task<T> InTurnAsync<T>(Func<Task<T>> convert)
    {
        await _turn.WaitAsync().ConfigureAwait(false);
        try
        {
            return await convert().ConfigureAwait(false);
        }
        finally
        {
            _turn.Release();
        }
    }

    private async Task<byte[]> EncodeWithTypesAsync(JsonElement json, MessageDescriptor type)
    {
        while (true)
        {
            _reflection.Schema.Missed.Clear();
            try
            {
                return _encoder.Encode(json, type);
            }
            catch (JsonInputException) when (_reflection.Schema.Missed.Count > 0)
            {
                if (!await LoadMissedAsync().ConfigureAwait(false))
                {
                    throw;
                }
            }
        }
    }

    private async Task<string> DecodeWithTypesAsync(byte[] bytes, MessageDescriptor type, bool isIndented)
    {
        while (true)
        {
            _reflection.Schema.Missed.Clear();
            string json = Decode(bytes, type, isIndented);
            if (_reflection.Schema.Missed.Count == 0 || !await TryLoadMissedAsync().ConfigureAwait(false))
            {
                return json;
            }
        }
    }

    private string Decode(byte[] bytes, MessageDescriptor type, bool isIndented)
    {
        using var buffer = new MemoryStream();
        using (var writer = new Utf8JsonWriter(buffer, s_compact with { Indented = isIndented }))
        {
            _decoder.Write(writer, UnsafeByteOperations.UnsafeWrap(bytes), type);
        }

        return Encoding.UTF8.GetString(buffer.GetBuffer(), 0, (int)buffer.Length);
    }

    // The call has been answered: the answer is shown without a type that the server cannot describe.
    private async Task<bool> TryLoadMissedAsync()
    {
        try
        {
            return await LoadMissedAsync().ConfigureAwait(false);
        }
        catch (Exception exception) when (exception is ToolException or RpcException)
        {
            return false;
        }
    }

    // Returns whether one more type is known now.
    private async Task<bool> LoadMissedAsync()
    {
        bool isLoaded = false;
        foreach (string name in _reflection.Schema.Missed.ToArray())
        {
            isLoaded |= await _reflection.TryLoadAsync(name).ConfigureAwait(false) is MessageDescriptor;
        }

        return isLoaded;
    }
}
