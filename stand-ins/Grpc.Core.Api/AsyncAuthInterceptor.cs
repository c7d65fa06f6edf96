namespace Grpc.Core;

/// <summary>Adds entries to the headers of an outgoing call, such as a token that had to be fetched first.</summary>
public delegate Task AsyncAuthInterceptor(AuthInterceptorContext context, Metadata metadata);
