#include "load/generator.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <fstream>
#include <limits>
#include <stdexcept>
#include <utility>

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "load/schedule.h"

namespace sluice::bench {
namespace {

using std::chrono::nanoseconds;

constexpr std::size_t kInputBytes = std::size_t{256} * 1024;
constexpr nanoseconds kPatience = std::chrono::seconds(10);
constexpr int kNapMs = 100;
constexpr std::size_t kShownBytes = 200;  // Of a reply that is wrong.

[[noreturn]] void ThrowErrno(const char* what) {
  throw std::runtime_error(std::string(what) + ": " + std::strerror(errno));
}

nanoseconds OwnCpu() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return std::chrono::seconds(now.tv_sec) + nanoseconds(now.tv_nsec);
}

// As the kernel tells it: time on the processor, time waiting for it, turns. Zero if it does not.
nanoseconds KeptWaiting() {
  std::int64_t ran = 0;
  std::int64_t waited = 0;
  std::ifstream("/proc/thread-self/schedstat") >> ran >> waited;
  return nanoseconds(waited);
}

net::Fd Connect(std::uint16_t port) {
  net::Fd fd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(port);
  const int on = 1;
  if (!fd || connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
      setsockopt(fd.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on) != 0) {
    ThrowErrno("can't connect");
  }
  return fd;
}

}  // namespace

Generator::Generator(std::uint16_t port, std::size_t connections, Requests requests, ReadReply read)
    : Generator(std::vector{port}, connections, std::move(requests), read) {}

Generator::Generator(const std::vector<std::uint16_t>& ports, std::size_t connections,
                     Requests requests, ReadReply read)
    : Generator(ports, connections, std::make_shared<Requests>(std::move(requests)), read) {}

Generator::Generator(const std::vector<std::uint16_t>& ports, std::size_t connections,
                     const std::shared_ptr<Requests>& requests, ReadReply read)
    : Generator(ports, connections, requests->keys(),
                [&requests, read] { return std::make_unique<PlainDialogue>(requests, read); }) {}

Generator::Generator(const std::vector<std::uint16_t>& ports, std::size_t connections,
                     std::uint64_t keys, const std::function<std::unique_ptr<Dialogue>()>& begin)
    : keys_(keys), epoll_(epoll_create1(EPOLL_CLOEXEC)) {
  for (std::size_t i = 0; i < connections; ++i) {
    Connection& connection =
        connections_.emplace_back(Connection{.socket = Connect(ports[i % ports.size()])});
    connection.dialogue = begin();
    connection.in.resize(kInputBytes);
    epoll_event event{};
    event.events = EPOLLIN | EPOLLOUT | EPOLLET;
    event.data.u32 = static_cast<std::uint32_t>(i);
    if (epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, connection.socket.get(), &event) != 0) {
      ThrowErrno("epoll_ctl");
    }
  }
  ready_.resize(connections);
}

Tally Generator::Closed(std::size_t depth, nanoseconds duration) {
  return RunClosed(depth, SteadyClock::NowInNanos() + duration,
                   std::numeric_limits<std::uint64_t>::max());
}

Tally Generator::EachKeyOnce(std::size_t depth) {
  return RunClosed(depth, nanoseconds::max(), keys_);
}

Tally Generator::RunClosed(std::size_t depth, nanoseconds end, std::uint64_t requests) {
  BeginRun();
  const auto ask = [&](Connection& connection, std::size_t count) {
    for (; count > 0 && requests > 0; --count, --requests) Append(connection);
    Flush(connection);
  };
  for (Connection& connection : connections_) ask(connection, depth);
  while (waiting_ > 0) {
    const std::size_t ready = Wait(kNapMs);
    const bool goes_on = SteadyClock::NowInNanos() < end;
    for (std::size_t i = 0; i < ready; ++i) {
      Connection& connection = Ready(i);
      const std::size_t replies = Receive(connection);
      ask(connection, goes_on ? replies : 0);
    }
    CheckPatience();
  }
  return EndRun();
}

Tally Generator::Open(std::size_t depth, double per_second, nanoseconds duration,
                      Histogram& latencies) {
  BeginRun();
  latencies_ = &latencies;
  const nanoseconds end = began_ + duration;
  Schedule schedule(began_, per_second);
  std::size_t next = 0;
  while (waiting_ > 0 || schedule.next() < end) {
    const nanoseconds now = std::min(SteadyClock::NowInNanos(), end - nanoseconds(1));
    while (schedule.next() <= now) {
      Connection& connection = connections_[next++ % connections_.size()];
      for (std::size_t i = 0; i < depth && schedule.next() <= now; ++i, schedule.Pop()) {
        connection.due.push_back(schedule.next());
        Append(connection);
      }
      Flush(connection);
    }
    const std::size_t ready = Wait(0);  // Never sleeps: waking up takes longer than many replies.
    for (std::size_t i = 0; i < ready; ++i) {
      Receive(Ready(i));
      Flush(Ready(i));
    }
    if (waiting_ > 0) CheckPatience();
  }
  return EndRun();
}

std::size_t Generator::Wait(int timeout_ms) {
  std::array<epoll_event, 64> events;
  const std::size_t most = std::min(events.size(), ready_.size());
  const int count = epoll_wait(epoll_.get(), events.data(), static_cast<int>(most), timeout_ms);
  if (count < 0 && errno != EINTR) ThrowErrno("epoll_wait");
  for (int i = 0; i < count; ++i) {
    ready_[static_cast<std::size_t>(i)] = events[static_cast<std::size_t>(i)].data.u32;
  }
  return static_cast<std::size_t>(std::max(count, 0));
}

Generator::Connection& Generator::Ready(std::size_t i) { return connections_[ready_[i]]; }

void Generator::Append(Connection& connection) {
  const std::uint64_t key = connection.dialogue->Ask(connection.out);
  ++waiting_;
  if (witness_ == nullptr) return;
  connection.keys.push_back(key);
  witness_->Asked(key, SteadyClock::NowInNanos());
}

void Generator::Flush(Connection& connection) {
  while (connection.out_at < connection.out.size()) {
    const ssize_t sent =
        send(connection.socket.get(), connection.out.data() + connection.out_at,
             connection.out.size() - connection.out_at, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0 && errno == EAGAIN) return;
    if (sent < 0) ThrowErrno("can't send");
    connection.out_at += static_cast<std::size_t>(sent);
  }
  connection.out.clear();
  connection.out_at = 0;
}

std::size_t Generator::Receive(Connection& connection) {
  std::size_t replies = 0;
  for (;;) {
    const std::size_t room = connection.in.size() - connection.in_size;
    if (room == 0) throw std::runtime_error("a reply is longer than any should be");
    const ssize_t got = recv(connection.socket.get(), connection.in.data() + connection.in_size,
                             room, MSG_DONTWAIT);
    if (got < 0 && errno == EAGAIN) return replies;
    if (got < 0) ThrowErrno("can't receive");
    if (got == 0) throw std::runtime_error("the server closed a connection");
    connection.in_size += static_cast<std::size_t>(got);
    last_reply_ = SteadyClock::NowInNanos();
    replies += ReadReplies(connection);
    if (static_cast<std::size_t>(got) < room) return replies;
  }
}

std::size_t Generator::ReadReplies(Connection& connection) {
  std::string_view rest(connection.in.data(), connection.in_size);
  std::size_t replies = 0;
  while (!rest.empty()) {
    const Reply reply = connection.dialogue->Hear(rest, connection.out);
    if (reply.size == 0) break;
    if (reply.verdict == Verdict::kWrong) {
      throw std::runtime_error("a wrong reply: " + std::string(rest.substr(0, kShownBytes)));
    }
    rest.remove_prefix(reply.size);
    if (reply.verdict == Verdict::kNone) continue;
    Count(connection, reply);
    ++replies;
  }
  std::memmove(connection.in.data(), rest.data(), rest.size());
  connection.in_size = rest.size();
  return replies;
}

void Generator::Count(Connection& connection, const Reply& reply) {
  if (waiting_ == 0) throw std::runtime_error("more replies than requests");
  --waiting_;
  ++(reply.verdict == Verdict::kAllowed ? tally_.allowed : tally_.denied);
  if (reply.turn < connection.keys.size()) {
    const auto key = connection.keys.begin() + static_cast<std::ptrdiff_t>(reply.turn);
    if (witness_ != nullptr) witness_->Answered(*key, reply.verdict, last_reply_);
    connection.keys.erase(key);
  }
  if (latencies_ == nullptr) return;
  if (reply.turn >= connection.due.size()) {
    throw std::runtime_error("a reply that nobody waits for");
  }
  const auto due = connection.due.begin() + static_cast<std::ptrdiff_t>(reply.turn);
  latencies_->Record(last_reply_ - *due);
  connection.due.erase(due);
}

void Generator::BeginRun() {
  tally_ = {};
  latencies_ = nullptr;
  cpu_at_begin_ = OwnCpu();
  kept_waiting_at_begin_ = KeptWaiting();
  began_ = SteadyClock::NowInNanos();
  last_reply_ = began_;
}

Tally Generator::EndRun() const {
  Tally tally = tally_;
  tally.took = last_reply_ - began_;
  tally.cpu = OwnCpu() - cpu_at_begin_;
  tally.kept_waiting = KeptWaiting() - kept_waiting_at_begin_;
  return tally;
}

void Generator::CheckPatience() const {
  if (SteadyClock::NowInNanos() - last_reply_ < kPatience) return;
  throw std::runtime_error(std::to_string(waiting_) + " requests are not answered");
}

}  // namespace sluice::bench
