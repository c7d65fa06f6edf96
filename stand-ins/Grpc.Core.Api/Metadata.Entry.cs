using System.Buffers;
using System.Runtime.InteropServices;
using System.Text;
using Grpc.Core.Api.Utils;
using Grpc.Core.Utils;

namespace Grpc.Core;

public sealed partial class Metadata
{
    /// <summary>One key with its value, text or bytes as the key's suffix says. Immutable.</summary>
    public class Entry
    {
        private static readonly SearchValues<char> s_keyCharacters =
            SearchValues.Create("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-");

        private readonly string? _text;
        private readonly byte[]? _bytes;

        public Entry(string key, byte[] valueBytes)
            : this(NormalizeKey(key), null, null)
        {
            GrpcPreconditions.CheckArgument(
                IsBinaryKey(Key),
                $"Key for binary valued metadata entry needs to have '{BinaryHeaderSuffix}' suffix indicating " +
                "binary value.");
            _bytes = Copy(GrpcPreconditions.CheckNotNull(valueBytes, nameof(valueBytes)));
        }

        public Entry(string key, string value)
            : this(NormalizeKey(key), null, null)
        {
            GrpcPreconditions.CheckArgument(
                !IsBinaryKey(Key),
                "Key for ASCII valued metadata entry cannot have suffix indicating binary value.");
            _text = GrpcPreconditions.CheckNotNull(value, nameof(value));
        }

        private Entry(string key, string? text, byte[]? bytes)
        {
            Key = key;
            _text = text;
            _bytes = bytes;
        }

        public string Key { get; }

        public bool IsBinary => _text is null;

        public string Value
        {
            get
            {
                GrpcPreconditions.CheckState(!IsBinary, "Cannot access string value of a binary metadata entry");
                return _text!;
            }
        }

        public byte[] ValueBytes => _bytes is null ? Encoding.ASCII.GetBytes(_text!) : Copy(_bytes);

        public override string ToString() => IsBinary
            ? $"[Entry: key={Key}, valueBytes={_bytes}]"
            : $"[Entry: key={Key}, value={_text}]";

        /// <summary>Makes an entry of what the C core received, which needs no checking.</summary>
        internal static Entry CreateUnsafe(string key, IntPtr source, int length)
        {
            if (!IsBinaryKey(key))
            {
                return new Entry(key, Encoding.ASCII.GetString(source, length), null);
            }

            var bytes = length == 0 ? [] : new byte[length];
            Marshal.Copy(source, bytes, 0, length);
            return new Entry(key, null, bytes);
        }

        /// <summary>The value as it goes over the wire: perhaps the entry's own array, so not to be changed.</summary>
        internal byte[] GetSerializedValueUnsafe() => _bytes ?? Encoding.ASCII.GetBytes(_text!);

        internal bool HasKey(string key) => string.Equals(Key, key, StringComparison.OrdinalIgnoreCase);

        private static string NormalizeKey(string key)
        {
            GrpcPreconditions.CheckNotNull(key, nameof(key));
            GrpcPreconditions.CheckArgument(
                !key.AsSpan().ContainsAnyExcept(s_keyCharacters),
                "Metadata entry key not valid. Keys can only contain lowercase alphanumeric characters, underscores, " +
                "hyphens and dots.");
            return key.ToLowerInvariant();
        }

        private static bool IsBinaryKey(string key) => key.EndsWith(BinaryHeaderSuffix, StringComparison.Ordinal);

        private static byte[] Copy(byte[] bytes) => bytes.AsSpan().ToArray();
    }
}
