// A client made with grpc++, for the tests: asks as it is told, and prints each answer as a line of
// JSON. Nothing of Sluice's own code is in it.
//
//   sluice_grpc_client ADDRESS [--ca FILE] [--gzip] [--deadline-ms N] COMMAND
//
//   ask N REQUEST            the same question, one call after the other
//   many N REQUEST           so many calls at once, on one connection; prints how many came to what
//   load REQUEST             calls without end, each waiting for a server if there is none; prints
//                            a line at the first answer, and the sum when its input is closed
//   health [SERVICE]         Check
//   watch [SERVICE]          Watch; prints a line for every message, until the stream ends
//   reflect VERSION SYMBOL   the services, and the names that the file of the symbol defines
//   unknown METHOD           a method by its path

#include <atomic>
#include <condition_variable>
#include <cstdio>
#include <deque>
#include <fstream>
#include <iostream>
#include <iterator>
#include <map>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <google/protobuf/descriptor.pb.h>
#include <google/protobuf/util/json_util.h>
#include <grpc/support/time.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>

#include "envoy/service/ratelimit/v3/rls.grpc.pb.h"
#include "grpc/health/v1/health.grpc.pb.h"
#include "grpc/reflection/v1/reflection.grpc.pb.h"
#include "grpc/reflection/v1alpha/reflection.grpc.pb.h"

namespace {

namespace rls = envoy::service::ratelimit::v3;
namespace health = grpc::health::v1;
using Counts = std::map<std::string, int>;

constexpr int kPatienceMs = 60'000;
constexpr int kLoadThreads = 8;

struct Options {
  std::string address;
  std::string ca;
  bool gzip = false;
  int deadline_ms = kPatienceMs;
  std::vector<std::string> command;
};

Options Read(int argc, char** argv) {
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  Options options;
  std::size_t i = 0;
  const auto next = [&]() -> const std::string& { return arguments.at(i++); };
  options.address = next();
  while (i < arguments.size() && arguments[i].starts_with("--")) {
    const std::string& name = next();
    if (name == "--ca") {
      options.ca = next();
    } else if (name == "--gzip") {
      options.gzip = true;
    } else if (name == "--deadline-ms") {
      options.deadline_ms = std::stoi(next());
    } else {
      throw std::runtime_error("unknown option " + name);
    }
  }
  options.command.assign(arguments.begin() + static_cast<std::ptrdiff_t>(i), arguments.end());
  return options;
}

std::shared_ptr<grpc::ChannelCredentials> CredentialsFor(const Options& options) {
  if (options.ca.empty()) return grpc::InsecureChannelCredentials();
  std::ifstream file(options.ca);
  grpc::SslCredentialsOptions ssl;
  ssl.pem_root_certs.assign(std::istreambuf_iterator<char>(file), {});
  return grpc::SslCredentials(ssl);
}

std::shared_ptr<grpc::Channel> Connect(const Options& options) {
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(-1);
  // A server that was gone is looked for at once.
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 20);
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, 20);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 50);
  if (options.gzip) arguments.SetCompressionAlgorithm(GRPC_COMPRESS_GZIP);
  return grpc::CreateCustomChannel(options.address, CredentialsFor(options), arguments);
}

std::string JsonOf(const google::protobuf::Message& message) {
  std::string json;
  if (!google::protobuf::util::MessageToJsonString(message, &json).ok()) {
    throw std::runtime_error("can't print a message");
  }
  return json;
}

std::string Quoted(const std::string& text) {
  google::protobuf::Value value;
  value.set_string_value(text);
  return JsonOf(value);
}

void PrintLine(const std::string& line) { std::cout << line << '\n' << std::flush; }

void Print(const grpc::Status& status, const std::string& response) {
  PrintLine("{\"status\":" + std::to_string(status.error_code()) +
            ",\"message\":" + Quoted(status.error_message()) +
            ",\"response\":" + (status.ok() ? response : "null") + "}");
}

void Print(const Counts& counts) {
  std::string line;
  for (const auto& [name, count] : counts) {
    line += (line.empty() ? "{" : ",") + Quoted(name) + ":" + std::to_string(count);
  }
  PrintLine(line + "}");
}

std::string NameOf(const grpc::Status& status, const rls::RateLimitResponse& response) {
  if (status.ok()) return rls::RateLimitResponse::Code_Name(response.overall_code());
  return std::to_string(status.error_code()) + ": " + status.error_message();
}

class Client {
 public:
  explicit Client(Options options)
      : options_(std::move(options)), channel_(Connect(options_)), limits_(channel_) {}

  void Run() {
    const std::string& command = Argument(0);
    if (command == "ask") {
      Ask(std::stoi(Argument(1)), RequestOf(Argument(2)));
    } else if (command == "many") {
      Many(std::stoul(Argument(1)), RequestOf(Argument(2)));
    } else if (command == "load") {
      Load(RequestOf(Argument(1)));
    } else if (command == "health") {
      CheckHealth();
    } else if (command == "watch") {
      WatchHealth();
    } else if (command == "reflect" && Argument(1) == "v1") {
      Reflect<grpc::reflection::v1::ServerReflection, grpc::reflection::v1::ServerReflectionRequest,
              grpc::reflection::v1::ServerReflectionResponse>();
    } else if (command == "reflect" && Argument(1) == "v1alpha") {
      Reflect<grpc::reflection::v1alpha::ServerReflection,
              grpc::reflection::v1alpha::ServerReflectionRequest,
              grpc::reflection::v1alpha::ServerReflectionResponse>();
    } else if (command == "unknown") {
      CallByPath(Argument(1));
    } else {
      throw std::runtime_error("unknown command " + command);
    }
  }

 private:
  const std::string& Argument(std::size_t i) const { return options_.command.at(i); }

  // "@file": what the file says.
  static rls::RateLimitRequest RequestOf(std::string json) {
    if (json.starts_with('@')) {
      std::ifstream file(json.substr(1));
      json.assign(std::istreambuf_iterator<char>(file), {});
    }
    rls::RateLimitRequest request;
    const auto read = google::protobuf::util::JsonStringToMessage(json, &request);
    if (!read.ok()) throw std::runtime_error(read.ToString());
    return request;
  }

  void Prepare(grpc::ClientContext& context) const {
    context.set_wait_for_ready(true);
    context.set_deadline(gpr_time_from_millis(options_.deadline_ms, GPR_TIMESPAN));
  }

  void Ask(int times, const rls::RateLimitRequest& request) {
    for (int i = 0; i < times; ++i) {
      grpc::ClientContext context;
      Prepare(context);
      rls::RateLimitResponse response;
      const grpc::Status status = limits_.ShouldRateLimit(&context, request, &response);
      Print(status, JsonOf(response));
    }
  }

  void Many(std::size_t count, const rls::RateLimitRequest& request) {
    struct Call {
      grpc::ClientContext context;
      rls::RateLimitResponse response;
    };
    std::deque<Call> calls(count);
    std::mutex mutex;
    std::condition_variable done;
    std::size_t answered = 0;
    Counts counts;
    for (Call& call : calls) {
      Prepare(call.context);
      limits_.async()->ShouldRateLimit(&call.context, &request, &call.response,
                                       [&](const grpc::Status& status) {
                                         const std::lock_guard lock(mutex);
                                         ++counts[NameOf(status, call.response)];
                                         ++answered;
                                         done.notify_one();
                                       });
    }
    std::unique_lock lock(mutex);
    done.wait(lock, [&] { return answered == count; });
    Print(counts);
  }

  void Load(const rls::RateLimitRequest& request) {
    std::mutex mutex;
    Counts counts;
    std::atomic<bool> ends = false;
    std::once_flag first;
    std::vector<std::thread> threads;
    for (int i = 0; i < kLoadThreads; ++i) {
      threads.emplace_back([&] {
        while (!ends) {
          grpc::ClientContext context;
          Prepare(context);
          rls::RateLimitResponse response;
          const grpc::Status status = limits_.ShouldRateLimit(&context, request, &response);
          std::call_once(first, [] { PrintLine("{}"); });
          const std::lock_guard lock(mutex);
          ++counts[NameOf(status, response)];
        }
      });
    }
    std::cin.ignore(1);  // Until it is closed, or a byte comes.
    ends = true;
    for (std::thread& thread : threads) thread.join();
    Print(counts);
  }

  health::HealthCheckRequest HealthRequest() const {
    health::HealthCheckRequest request;
    if (options_.command.size() > 1) request.set_service(Argument(1));
    return request;
  }

  void CheckHealth() {
    grpc::ClientContext context;
    Prepare(context);
    health::HealthCheckResponse response;
    const auto stub = health::Health::NewStub(channel_);
    const grpc::Status status = stub->Check(&context, HealthRequest(), &response);
    Print(status, JsonOf(response));
  }

  void WatchHealth() {
    grpc::ClientContext context;
    Prepare(context);
    const auto stub = health::Health::NewStub(channel_);
    const auto stream = stub->Watch(&context, HealthRequest());
    health::HealthCheckResponse response;
    while (stream->Read(&response)) PrintLine(JsonOf(response));
    Print(stream->Finish(), "null");
  }

  template <typename Service, typename Request, typename Response>
  void Reflect() {
    grpc::ClientContext context;
    Prepare(context);
    const auto stub = Service::NewStub(channel_);
    const auto stream = stub->ServerReflectionInfo(&context);
    Request request;
    Response response;
    request.set_list_services("");
    if (stream->Write(request) && stream->Read(&response)) {
      for (const auto& service : response.list_services_response().service()) {
        PrintLine(Quoted(service.name()));
      }
    }
    request.set_file_containing_symbol(Argument(2));
    if (stream->Write(request) && stream->Read(&response)) {
      for (const std::string& bytes : response.file_descriptor_response().file_descriptor_proto()) {
        PrintNamesIn(bytes);
      }
      if (response.has_error_response()) PrintLine(JsonOf(response.error_response()));
    }
    stream->WritesDone();
    Print(stream->Finish(), "null");
  }

  static void PrintNamesIn(const std::string& file_bytes) {
    google::protobuf::FileDescriptorProto file;
    if (!file.ParseFromString(file_bytes)) throw std::runtime_error("not a file descriptor");
    PrintLine(Quoted(file.name()));
    for (const auto& message : file.message_type()) {
      PrintLine(Quoted(file.package() + "." + message.name()));
    }
    for (const auto& service : file.service()) {
      for (const auto& method : service.method()) {
        PrintLine(Quoted(file.package() + "." + service.name() + "/" + method.name()));
      }
    }
  }

  void CallByPath(const std::string& path) {
    grpc::ClientContext context;
    Prepare(context);
    grpc::CompletionQueue queue;
    grpc::GenericStub stub(channel_);
    const auto call = stub.PrepareUnaryCall(&context, path, grpc::ByteBuffer(), &queue);
    grpc::ByteBuffer response;
    grpc::Status status;
    call->StartCall();
    call->Finish(&response, &status, nullptr);
    void* tag = nullptr;
    bool ok = false;
    queue.Next(&tag, &ok);
    Print(status, "null");
  }

  Options options_;
  std::shared_ptr<grpc::Channel> channel_;
  rls::RateLimitService::Stub limits_;
};

}  // namespace

int main(int argc, char** argv) {
  try {
    Client(Read(argc, argv)).Run();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s: %s\n", argv[0], error.what());
    return 1;
  }
  return 0;
}
