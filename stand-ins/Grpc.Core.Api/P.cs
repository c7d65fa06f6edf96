namespace Grpc.Core; public class Placeholder {}
