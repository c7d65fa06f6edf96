using System.Buffers.Binary;
using System.Globalization;
using System.Runtime.InteropServices;
using Microsoft.Win32.SafeHandles;
using RpcOverShm.Linux;

namespace RpcOverShm.TestPeer;

/// <summary>
/// A file system on FUSE whose files can be opened and, once it is mute, not closed: the kernel waits for an answer to
/// FLUSH, and no signal ends that. The end of this process does, because it closes /dev/fuse. So the file system is in
/// a process other than the one that closes; that one could not be killed.
/// </summary>
internal sealed unsafe partial class FuseCommands
{
    private const int OpenForReadAndWrite = 0x80002; // O_RDWR | O_CLOEXEC
    private const int Detach = 2;                    // MNT_DETACH
    private const int NotImplemented = 38;           // ENOSYS
    private const int RequestHeaderBytes = 40;       // struct fuse_in_header
    private const int AnswerHeaderBytes = 16;        // struct fuse_out_header
    private const int ReadBytes = 64 << 10;
    private const int FileNode = 2;
    private const uint DirectoryMode = 0x41ED; // 040755
    private const uint FileMode = 0x81A4;      // 0100644

    // The operations of include/uapi/linux/fuse.h that opening a file needs.
    private const uint Lookup = 1;
    private const uint Forget = 2;
    private const uint GetAttributes = 3;
    private const uint Open = 14;
    private const uint Initialise = 26;

    private SafeFileHandle? _device;
    private string _directory = "";
    private volatile bool _isMute;

    /// <summary>Mounts the file system and begins to answer.</summary>
    public string Mount(string directory)
    {
        _device = new SafeFileHandle(LinuxNative.Open("/dev/fuse", OpenForReadAndWrite, 0), ownsHandle: true);
        Check(_device.IsInvalid, "open /dev/fuse");
        string options = string.Create(
            CultureInfo.InvariantCulture,
            $"fd={_device.DangerousGetHandle()},rootmode=40000,user_id=0,group_id=0");
        Check(MountAt("fuse", directory, "fuse", 0, options) != 0, "mount");
        _directory = directory;
        new Thread(Answer) { IsBackground = true, Name = "FUSE" }.Start();
        return "";
    }

    /// <summary>Takes the file system out of the directory; files that are open remain. It answers no more.</summary>
    public string Mute()
    {
        Check(Unmount(_directory, Detach) != 0, "umount2");
        _isMute = true;
        return "";
    }

    private static void Check(bool isFailed, string call)
    {
        if (isFailed)
        {
            throw new IOException($"{call}: {Marshal.GetLastPInvokeErrorMessage()}");
        }
    }

    [LibraryImport("libc", EntryPoint = "mount", SetLastError = true, StringMarshalling = StringMarshalling.Utf8)]
    private static partial int MountAt(string source, string target, string type, nuint flags, string options);

    [LibraryImport("libc", EntryPoint = "umount2", SetLastError = true, StringMarshalling = StringMarshalling.Utf8)]
    private static partial int Unmount(string target, int flags);

    private void Answer()
    {
        byte[] request = new byte[ReadBytes];
        while (Read(request) >= RequestHeaderBytes && !_isMute)
        {
            uint operation = BinaryPrimitives.ReadUInt32LittleEndian(request.AsSpan(4));
            ulong node = BinaryPrimitives.ReadUInt64LittleEndian(request.AsSpan(16));
            if (operation == Forget)
            {
                continue; // has no answer
            }

            byte[]? body = operation switch
            {
                Initialise => Protocol(),
                Lookup => [.. Words(FileNode, 0, long.MaxValue, long.MaxValue, 0), .. Attributes(FileNode)],
                GetAttributes => [.. Words(long.MaxValue, 0), .. Attributes(node)],
                Open => new byte[16], // struct fuse_open_out
                _ => null,
            };
            Write(request.AsSpan(8, 8), body);
        }
    }

    private nint Read(byte[] request)
    {
        fixed (byte* bytes = request)
        {
            return LinuxNative.Read(_device!, bytes, (nuint)request.Length);
        }
    }

    // The id is that of the request. No body means that the operation does not exist.
    private void Write(ReadOnlySpan<byte> id, byte[]? body)
    {
        byte[] answer = new byte[AnswerHeaderBytes + (body?.Length ?? 0)];
        BinaryPrimitives.WriteInt32LittleEndian(answer, answer.Length);
        BinaryPrimitives.WriteInt32LittleEndian(answer.AsSpan(4), body is null ? -NotImplemented : 0);
        id.CopyTo(answer.AsSpan(8));
        body?.CopyTo(answer, AnswerHeaderBytes);
        fixed (byte* bytes = answer)
        {
            _ = LinuxNative.Write(_device!, bytes, (nuint)answer.Length);
        }
    }

    // struct fuse_init_out of version 7.23
    private static byte[] Protocol()
    {
        byte[] body = new byte[64];
        BinaryPrimitives.WriteUInt32LittleEndian(body, 7);
        BinaryPrimitives.WriteUInt32LittleEndian(body.AsSpan(4), 23);
        BinaryPrimitives.WriteUInt32LittleEndian(body.AsSpan(20), 4096); // max_write
        return body;
    }

    // struct fuse_attr
    private static byte[] Attributes(ulong node)
    {
        byte[] body = new byte[88];
        BinaryPrimitives.WriteUInt64LittleEndian(body, node);
        BinaryPrimitives.WriteUInt32LittleEndian(body.AsSpan(60), node == FileNode ? FileMode : DirectoryMode);
        BinaryPrimitives.WriteUInt32LittleEndian(body.AsSpan(64), 1); // links
        return body;
    }

    private static byte[] Words(params ReadOnlySpan<long> words) => MemoryMarshal.AsBytes(words).ToArray();
}
