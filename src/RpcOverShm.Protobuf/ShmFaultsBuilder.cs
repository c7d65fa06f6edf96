using System.Diagnostics.CodeAnalysis;
using Google.Protobuf;
using Google.Protobuf.Reflection;
using Grpc.Core;
using RpcOverShm.Protobuf.Faults;

namespace RpcOverShm.Protobuf;

/// <summary>Makes a <see cref="ShmFaults"/>.</summary>
/// <remarks>Not thread-safe. May build several maps; nothing to dispose.</remarks>
public sealed class ShmFaultsBuilder
{
    private const DynamicallyAccessedMemberTypes Members =
        DynamicallyAccessedMemberTypes.PublicProperties | DynamicallyAccessedMemberTypes.PublicConstructors;

    private readonly Dictionary<Type, Fault> _byException = [];
    private readonly Dictionary<string, Func<IMessage, RpcException, Exception?>> _withoutEntry = [];
    private readonly Dictionary<string, MessageDescriptor> _details = [];

    /// <summary>Adds an exception, with functions that convert it.</summary>
    /// <typeparam name="TException">
    /// The type of the exception. It covers derived types, except those that have an entry of their own: the most
    /// derived type wins.
    /// </typeparam>
    /// <typeparam name="TDetail">The type of the detail, a Protobuf message.</typeparam>
    /// <param name="statusCode">The status code of the call; not <see cref="StatusCode.OK"/>.</param>
    /// <param name="toDetail">Makes the detail on the server; does not return null.</param>
    /// <param name="toException">
    /// Makes the exception on the client, from the detail and the failure of the call. The failure should become its
    /// <see cref="Exception.InnerException"/>; <c>failure.Status.Detail</c> is the message of the server's exception.
    /// <para>Null means that the client gets a <see cref="ShmFaultException{TDetail}"/>.</para>
    /// </param>
    /// <returns>This builder.</returns>
    /// <exception cref="ArgumentNullException"><paramref name="toDetail"/> is null.</exception>
    /// <exception cref="ArgumentOutOfRangeException">The status code is OK.</exception>
    /// <exception cref="ArgumentException">
    /// The type has an entry, or another exception is made from the same type of detail and status code.
    /// </exception>
    /// <remarks>
    /// <para>
    /// The functions run on any thread, also at the same time. The client sees the message of the exception, so types
    /// whose messages are not for it, such as <see cref="Exception"/> itself, should not be mapped.
    /// </para>
    /// <para>
    /// If <paramref name="toDetail"/> throws, the call ends as if its method had thrown an unmapped exception, and the
    /// server logs both. If <paramref name="toException"/> throws or returns null, the client gets the
    /// <see cref="RpcException"/>, with the cause in its <see cref="Exception.Data"/>
    /// (<see cref="ShmFaults.FactoryFailureKey"/>).
    /// </para>
    /// <para>
    /// A <see cref="RpcException"/>, and an <see cref="OperationCanceledException"/> after the call was cancelled or
    /// its deadline exceeded, are covered only by entries for these types and for types derived from them.
    /// </para>
    /// </remarks>
    public ShmFaultsBuilder Add<TException, TDetail>(
        StatusCode statusCode,
        Func<TException, TDetail> toDetail,
        Func<TDetail, RpcException, TException>? toException = null)
        where TException : Exception
        where TDetail : class, IMessage<TDetail>, new()
    {
        ArgumentNullException.ThrowIfNull(toDetail);
        Add(typeof(TException), new Fault(
            statusCode,
            new TDetail().Descriptor,
            exception => toDetail((TException)exception),
            toException is null ? null : (detail, failure) => toException((TDetail)detail, failure)));
        return AddDetail<TDetail>();
    }

    /// <summary>Adds an exception that has a <see cref="ShmFaultAttribute"/>.</summary>
    /// <typeparam name="TException">The type of the exception, which covers derived types as above.</typeparam>
    /// <returns>This builder.</returns>
    /// <exception cref="ArgumentOutOfRangeException">The status code of the attribute is OK.</exception>
    /// <exception cref="ArgumentException">
    /// The attribute is missing, or a member that it demands; the type has an entry; or another exception is made from
    /// the same type of detail and status code.
    /// </exception>
    public ShmFaultsBuilder Add<[DynamicallyAccessedMembers(Members)] TException>()
        where TException : Exception
    {
        var fault = new AttributedFault(typeof(TException));
        Add(typeof(TException), new Fault(fault.StatusCode, fault.Empty.Descriptor, fault.ToDetail, fault.ToException));
        return this;
    }

    /// <summary>
    /// Adds a type of details, for which the client gets a <see cref="ShmFaultException{TDetail}"/> unless an exception
    /// of the map is made from it.
    /// </summary>
    /// <typeparam name="TDetail">The type of the detail, a Protobuf message.</typeparam>
    /// <returns>This builder.</returns>
    /// <remarks>
    /// Only the client needs it: the server sends every <see cref="ShmFaultException{TDetail}"/>. May be called again
    /// for the same type.
    /// </remarks>
    public ShmFaultsBuilder AddDetail<TDetail>()
        where TDetail : class, IMessage<TDetail>, new()
    {
        MessageDescriptor descriptor = new TDetail().Descriptor;
        _details[descriptor.FullName] = descriptor;
        _withoutEntry[descriptor.FullName] = static (detail, failure) => new ShmFaultException<TDetail>(
            failure.StatusCode, (TDetail)detail, failure.Status.Detail, failure);
        return this;
    }

    /// <summary>Makes the map of what was added so far.</summary>
    public ShmFaults Build() => new(_byException, _details.Values.Select(MakeDetail));

    private void Add(Type exception, Fault fault)
    {
        Fault.ThrowIfOk(fault.StatusCode);
        bool isTaken = fault.ToException is not null && _byException.Values.Any(
            other => other.ToException is not null
                && other.Detail.FullName == fault.Detail.FullName
                && other.StatusCode == fault.StatusCode);
        if (isTaken)
        {
            throw new ArgumentException(
                $"{exception}: another exception is made from {fault.Detail.FullName} with {fault.StatusCode}. "
                + "One of them needs another status code or detail, or no way back.");
        }

        if (!_byException.TryAdd(exception, fault))
        {
            throw new ArgumentException($"{exception} has an entry already.");
        }

        _details[fault.Detail.FullName] = fault.Detail;
    }

    private FaultDetail MakeDetail(MessageDescriptor type) => new(
        type,
        [.. _byException.Values.Where(one => one.ToException is not null && one.Detail.FullName == type.FullName)],
        _withoutEntry.GetValueOrDefault(type.FullName));
}
