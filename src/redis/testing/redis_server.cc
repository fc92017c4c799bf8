#include "redis/testing/redis_server.h"

#include <array>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <mutex>
#include <random>
#include <set>
#include <stdexcept>
#include <thread>
#include <utility>

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "resp/decoder.h"

namespace sluice::redis::testing {
namespace {

constexpr auto kStartTimeout = std::chrono::seconds(20);
constexpr auto kPause = std::chrono::milliseconds(2);
constexpr int kStartAttempts = 5;  // Of a server that may have another port.
constexpr int kFirstPort = 10000;

std::filesystem::path MakeFolder() {
  std::string path = (std::filesystem::temp_directory_path() / "sluice-redis-XXXXXX").string();
  if (mkdtemp(path.data()) == nullptr) throw std::runtime_error("can't make " + path);
  return path;
}

void RunOrThrow(const std::string& command) {
  if (std::system(command.c_str()) != 0) throw std::runtime_error("failed: " + command);
}

// The tests' redis-server, or another one to be tried: another version, or Valkey.
const char* Program() {
  const char* const other = std::getenv("SLUICE_TEST_REDIS_SERVER");
  return other != nullptr && *other != '\0' ? other : "redis-server";
}

std::string TextOf(const std::filesystem::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

int MakeSocket(int family) {
  const int socket = ::socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (socket < 0) throw std::runtime_error("no socket");
  return socket;
}

// A connected Unix socket; -1 without a listener.
int ConnectUnix(const std::string& path) {
  const int socket = MakeSocket(AF_UNIX);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, path.c_str(), sizeof address.sun_path - 1);
  if (connect(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0)
    return socket;
  close(socket);
  return -1;
}

// The first of the ports that the kernel gives to outgoing connections.
int EphemeralPortsBegin() {
  int begin = 0;
  std::ifstream("/proc/sys/net/ipv4/ip_local_port_range") >> begin;
  return begin > kFirstPort + 1000 ? begin : 32768;
}

bool CanBind(std::uint16_t port) {
  const int socket = MakeSocket(AF_INET);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(port);
  const bool bound = bind(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
  close(socket);
  return bound;
}

}  // namespace

std::uint16_t FreePort() {
  static std::mutex mutex;
  static std::mt19937 random{std::random_device{}()};
  static std::set<std::uint16_t> used;
  const std::scoped_lock lock(mutex);
  std::uniform_int_distribution<int> any(kFirstPort, EphemeralPortsBegin() - 1);
  for (int attempt = 0; attempt < 1000; ++attempt) {
    const auto port = static_cast<std::uint16_t>(any(random));
    if (!used.contains(port) && CanBind(port)) {
      used.insert(port);
      return port;
    }
  }
  throw std::runtime_error("no free port");
}

Certificates::Certificates(const std::filesystem::path& folder)
    : ca_file(folder / "ca.crt"),
      server_cert_file(folder / "server.crt"),
      server_key_file(folder / "server.key"),
      client_cert_file(folder / "client.crt"),
      client_key_file(folder / "client.key"),
      other_ca_file(folder / "other.crt") {
  std::ofstream(folder / "server.ext") << "subjectAltName=DNS:redis.test,IP:127.0.0.1\n";
  std::ofstream(folder / "client.ext") << "extendedKeyUsage=clientAuth\n";
  std::ofstream(folder / "make.sh") << R"(
set -e
exec 2>openssl.log
key="-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes"
for name in ca other; do
  openssl req $key -x509 -days 2 -subj /CN=$name -keyout $name.key -out $name.crt
done
for name in server client; do
  openssl req $key -subj /CN=$name -keyout $name.key -out $name.csr
  openssl x509 -req -days 2 -in $name.csr -CA ca.crt -CAkey ca.key -CAcreateserial \
    -extfile $name.ext -out $name.crt
done
)";
  RunOrThrow("cd '" + folder.string() + "' && sh make.sh");
}

RedisServer::RedisServer(RedisServerOptions options)
    : options_(std::move(options)), folder_(MakeFolder()) {
  if (options_.tls) certificates_.emplace_back(folder_);
  for (int attempt = 1;; ++attempt) {
    port_ = options_.port != 0 ? options_.port : FreePort();
    WriteConfig();
    try {
      Start();
      return;
    } catch (const std::runtime_error&) {
      const bool ended = process_ == 0;  // As it does if another process took the port meanwhile.
      if (!ended || options_.port != 0 || attempt == kStartAttempts) throw;
    }
  }
}

RedisServer::~RedisServer() {
  Kill();
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

void RedisServer::WriteConfig() {
  std::ofstream(folder_ / "nodes.conf") << options_.cluster_nodes;
  std::ofstream config(folder_ / "redis.conf");
  config << "bind 127.0.0.1\nsave \"\"\nappendonly no\ndaemonize no\ndir " << folder_.string()
         << "\nlogfile " << (folder_ / "redis.log").string() << "\nunixsocket " << unix_socket()
         << "\n";
  if (options_.tls) {
    config << "port 0\ntls-port " << port_ << "\ntls-ca-cert-file " << certificates().ca_file
           << "\ntls-cert-file " << certificates().server_cert_file << "\ntls-key-file "
           << certificates().server_key_file << "\n";
  } else {
    config << "port " << port_ << "\n";
  }
  for (const std::string& line : options_.config) config << line << "\n";
}

Options RedisServer::ClientOptions() const {
  Options options;
  options.port = port_;
  if (options_.tls) {
    options.tls.enabled = true;
    options.tls.ca_file = certificates().ca_file;
  }
  options.breaker.enabled = false;  // Tests of it switch it on.
  return options;
}

void RedisServer::Spawn() {
  const std::string config = (folder_ / "redis.conf").string();
  const char* const program = Program();
  const pid_t parent = getpid();
  process_ = fork();
  if (process_ < 0) throw std::runtime_error("can't fork");
  if (process_ > 0) return;
  // Only what is safe between fork and exec in a program with threads.
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(1);  // The parent died before it could be asked for.
  execlp(program, program, config.c_str(), options_.sentinel ? "--sentinel" : nullptr, nullptr);
  _exit(127);
}

void RedisServer::Start(Until until) {
  std::filesystem::remove(unix_socket());
  Spawn();
  const SteadyTime give_up = SteadyClock::Now() + kStartTimeout;
  while (!Answers(until)) {
    const bool died = waitpid(process_, nullptr, WNOHANG) == process_;
    if (died) process_ = 0;
    if (died || SteadyClock::Now() > give_up) {
      throw std::runtime_error("redis-server does not start:\n" + TextOf(folder_ / "redis.log"));
    }
    std::this_thread::sleep_for(kPause);
  }
}

bool RedisServer::Answers(Until until) const {
  const int socket = ConnectUnix(unix_socket());
  if (socket < 0) return false;
  close(socket);
  return until == Until::kListens || Do("PING").value().error_code() != "LOADING";
}

resp::Reply RedisServer::Do(std::string_view inline_command) const {
  const std::string line = std::string(inline_command) + "\r\n";
  const int socket = ConnectUnix(unix_socket());
  if (socket < 0) throw std::runtime_error("redis-server is not there for " + line);
  resp::Decoder decoder;
  std::array<char, 4096> bytes{};
  ssize_t got = send(socket, line.data(), line.size(), MSG_NOSIGNAL);
  while (got > 0 && decoder.Next() == resp::Decoder::Status::kNeedMore) {
    got = read(socket, bytes.data(), bytes.size());
    if (got > 0) decoder.Feed({bytes.data(), static_cast<std::size_t>(got)});
  }
  close(socket);
  if (got <= 0 || decoder.failed()) throw std::runtime_error("no reply to " + line);
  return resp::Reply(decoder.reply());
}

void RedisServer::Kill() {
  if (process_ <= 0) return;
  kill(process_, SIGKILL);
  waitpid(process_, nullptr, 0);
  process_ = 0;
}

void RedisServer::Freeze() const {
  kill(process_, SIGSTOP);
  int status = 0;
  waitpid(process_, &status, WUNTRACED);  // Not before it stands still.
}

void RedisServer::Thaw() const { kill(process_, SIGCONT); }

}  // namespace sluice::redis::testing
