namespace RpcOverShm.Windows;

/// <summary>A security descriptor of the system, for objects that this process creates. Immutable.</summary>
internal sealed unsafe class AccessDescriptor
{
    private const uint Revision = 1;

    // Lives as long as the process, or as the door.
    private readonly nint _descriptor;

    /// <exception cref="IOException">The system does not take the text.</exception>
    public AccessDescriptor(string text)
    {
        nint descriptor;
        int isMade = WindowsNative.ConvertStringSecurityDescriptorToSecurityDescriptorW(
            text, Revision, &descriptor, bytes: null);
        if (isMade == 0)
        {
            throw new IOException($"Cannot make the security descriptor {text}: {WindowsNative.LastErrorText()}.");
        }

        _descriptor = descriptor;
    }

    ~AccessDescriptor() => WindowsNative.LocalFree(_descriptor);

    /// <summary>
    /// Grants nobody anything of use. Without it, the holder of a handle with few rights could duplicate it with more.
    /// The owner, which is the peer's user too, may always change the list of rights, unless the list names the rights
    /// of owners: here, to read it.
    /// </summary>
    public static AccessDescriptor OfNobody { get; } = new("D:P(A;;RC;;;OW)");

    /// <summary>Attributes for a call that creates an object. The caller keeps this object alive meanwhile.</summary>
    public WindowsNative.SecurityAttributes Attributes => new()
    {
        Length = (uint)sizeof(WindowsNative.SecurityAttributes),
        Descriptor = _descriptor,
    };
}
