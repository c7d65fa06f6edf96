namespace MessagePack.Objects;

/// <summary>Takes a member's value; by reference, so that a struct is not copied for it.</summary>
internal delegate TValue Getter<T, out TValue>(ref T target);
