#include "redis/cluster_client.h"

#include <algorithm>
#include <utility>

#include "redis/error_reply.h"
#include "resp/encoder.h"

namespace sluice::redis {
namespace {

// Minimum interval between queries for the map.
constexpr Micros kAskPause = std::chrono::milliseconds(50);
// A node without slots and calls for this long is dropped.
constexpr Micros kNodeIdle = std::chrono::seconds(5);
// Maximum number of redirections: beyond it, nodes disagree and need time.
constexpr std::uint8_t kMostRedirects = 5;

std::string CommandOf(std::initializer_list<std::string_view> words) {
  std::string command;
  resp::AppendCommand(command, words);
  return command;
}

}  // namespace

ClusterClient::ClusterClient(net::Loop& loop, Options options)
    : loop_(loop),
      options_(std::move(options)),
      address_(AddressOf(options_)),
      ask_map_(CommandOf({"CLUSTER", "SLOTS"})),
      backoff_(options_.backoff_min, options_.backoff_max),
      ask_again_(loop, [this] { AskForMap(); }),
      sweep_(loop, [this] { Sweep(); }),
      turn_end_(loop, [this] { RunUnsent(); }) {
  owners_.fill(kNoNode);
}

ClusterClient::~ClusterClient() {
  Close();
  while (!unsent_.empty()) RunUnsent();
}

void ClusterClient::Connect() { AskForMap(); }

void ClusterClient::Close() {
  if (closed()) return;
  SetMapState(State::kClosed);
  ask_again_.Cancel();
  sweep_.Cancel();
  for (const Node& node : nodes_) {
    if (node.client) node.client->Close();
  }
  RunUnsent();
}

void ClusterClient::Send(Route& route, std::string_view command, SteadyTime deadline,
                         Handler handler) {
  if (closed()) return Reject(std::move(handler), Failure::kClosed, "the client is closed");
  const bool asking = IsNode(route.redirect);
  route.sent_to = asking ? std::exchange(route.redirect, kNoNode) : OwnerOf(route.slot);
  if (route.sent_to == kNoNode) {
    AskForMap();
    return Reject(std::move(handler), refused_ ? Failure::kRefused : Failure::kNotConnected,
                  last_error_.empty() ? "nothing is known of it yet" : last_error_);
  }
  nodes_[route.sent_to].last_used = loop_.Now();
  Client& client = *nodes_[route.sent_to].client;
  if (client.state() == State::kWaiting) AskForMap();
  const CallDeadline call_deadline(deadline, route.callers_deadline);
  if (asking) return client.SendAsking(command, call_deadline, std::move(handler));
  client.Send(command, call_deadline, std::move(handler));
}

RetryAdvice ClusterClient::AdviceFor(const Answer& answer, Route& route) {
  if (closed()) return RetryAdvice::kGiveUp;
  if (!answer) {
    const CallError& error = answer.error();
    if (error.ran == Execution::kUnknown || error.failure == Failure::kRefused ||
        error.failure == Failure::kQueueFull) {
      return RetryAdvice::kGiveUp;
    }
    AskForMap();
    return error.failure == Failure::kBreakerOpen ? RetryAdvice::kGiveUp : RetryAdvice::kLater;
  }
  const std::string_view code = CodeOf(answer.reply());
  if (code == "MOVED" || code == "ASK") return Follow(code, answer.reply(), route);
  if (code == "TRYAGAIN") return RetryAdvice::kApart;
  if (!MayPass(code)) return RetryAdvice::kGiveUp;
  AskForMap();
  return RetryAdvice::kLater;
}

RetryAdvice ClusterClient::Follow(std::string_view code, resp::Value error, Route& route) {
  Redirection to = ReadRedirection(error.text());
  const bool moved = code == "MOVED";
  if (moved) AskForMap();
  if (to.address.port == 0) return RetryAdvice::kLater;
  if (to.address.host.empty() && IsNode(route.sent_to)) {
    to.address.host = nodes_[route.sent_to].address.host;
  }
  const NodeIndex node = FindOrAdd(to.address);
  if (moved) {
    owners_[to.slot] = node;
  } else {
    route.redirect = node;
  }
  return ++route.redirects % kMostRedirects == 0 ? RetryAdvice::kLater : RetryAdvice::kNow;
}

bool ClusterClient::IsNode(NodeIndex index) const {
  return index < nodes_.size() && nodes_[index].client != nullptr;
}

// Returns the owner of the slot; any node if there is none, whose reply redirects or reports it;
// kNoNode without a map.
ClusterClient::NodeIndex ClusterClient::OwnerOf(std::uint16_t slot) const {
  if (map_state() != State::kReady) return kNoNode;
  if (IsNode(owners_[slot])) return owners_[slot];
  for (const NodeIndex owner : owners_) {
    if (IsNode(owner)) return owner;
  }
  return kNoNode;
}

ClusterClient::NodeIndex ClusterClient::FindOrAdd(const ServerAddress& address) {
  std::size_t place = nodes_.size();
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    if (!nodes_[i].client) place = std::min(place, i);
    if (nodes_[i].client && nodes_[i].address == address) return static_cast<NodeIndex>(i);
  }
  Node node{.address = address,
            .client = std::make_unique<Client>(loop_, OptionsOfNode(options_, address)),
            .last_used = loop_.Now()};
  if (on_breaker_change_) node.client->OnBreakerChange(on_breaker_change_);
  const std::lock_guard lock(nodes_mutex_);
  if (place == nodes_.size()) nodes_.emplace_back();
  nodes_[place] = std::move(node);
  return static_cast<NodeIndex>(place);
}

void ClusterClient::AskForMap() {
  if (asks_ || closed()) return;
  if (loop_.Now() < next_ask_) return ask_again_.Set(next_ask_);
  StartAsking();
}

void ClusterClient::StartAsking() {
  asks_ = true;
  seeds_asked_ = false;
  if (map_state() == State::kIdle) SetMapState(State::kConnecting);
  ask_again_.Cancel();
  to_ask_.clear();
  ++turn_;
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    const std::size_t index = (i + turn_) % nodes_.size();
    if (nodes_[index].client) to_ask_.push_back(static_cast<NodeIndex>(index));
  }
  // Queried from the back.
  std::stable_partition(to_ask_.begin(), to_ask_.end(), [this](NodeIndex index) {
    return nodes_[index].client->state() != State::kReady;
  });
  AskNext();
}

void ClusterClient::AskNext() {
  if (to_ask_.empty() && !seeds_asked_) {
    seeds_asked_ = true;
    for (const ServerAddress& seed : options_.seeds) to_ask_.push_back(FindOrAdd(seed));
    std::reverse(to_ask_.begin(), to_ask_.end());
  }
  if (to_ask_.empty()) return OnNoMap();
  const NodeIndex asked = to_ask_.back();
  to_ask_.pop_back();
  nodes_[asked].last_used = loop_.Now();
  nodes_[asked].client->Send(ask_map_, loop_.Now() + options_.connect_timeout,
                             [this, asked](const Answer& answer) { OnMap(asked, answer); });
}

void ClusterClient::OnMap(NodeIndex asked, const Answer& answer) {
  if (closed()) return;
  const ServerAddress& address = nodes_[asked].address;
  if (!answer) {
    refused_ = answer.error().failure == Failure::kRefused;
    last_error_ = answer.error().message;
    return AskNext();
  }
  const auto ranges = ReadSlotRanges(answer.reply(), address.host);
  if (!ranges) {
    refused_ = !MayPass(CodeOf(answer.reply()));
    last_error_ = ToText(address) + ": CLUSTER SLOTS: " + Describe(answer.reply());
    return AskNext();
  }
  refused_ = false;
  last_error_.clear();
  backoff_.Reset();
  asks_ = false;
  // Jitter: clients that lost a node at the same time don't query at the same time.
  next_ask_ = loop_.Now() + kAskPause + Backoff(kAskPause, kAskPause).Next();
  TakeOver(*ranges);
}

void ClusterClient::OnNoMap() {
  asks_ = false;
  if (map_state() == State::kConnecting) SetMapState(State::kWaiting);
  next_ask_ = loop_.Now() + backoff_.Next();
  ask_again_.Set(next_ask_);
}

void ClusterClient::TakeOver(const std::vector<SlotRange>& ranges) {
  owners_.fill(kNoNode);
  std::vector<bool> owns;
  for (const SlotRange& range : ranges) {
    const NodeIndex owner = FindOrAdd(range.owner);
    std::fill(owners_.begin() + range.first, owners_.begin() + range.last + 1, owner);
    nodes_[owner].client->Connect();
    owns.resize(nodes_.size());
    owns[owner] = true;
  }
  {
    const std::lock_guard lock(nodes_mutex_);
    for (std::size_t i = 0; i < owns.size(); ++i) nodes_[i].owns = owns[i];
  }
  SetMapState(State::kReady);
  sweep_.Set(loop_.Now() + kNodeIdle);
}

// Not inside a handler of a node's.
void ClusterClient::Sweep() {
  bool more = false;
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    Node& node = nodes_[i];
    if (!node.client || std::ranges::find(owners_, static_cast<NodeIndex>(i)) != owners_.end())
      continue;
    const Stats stats = node.client->StatsApprox();
    if (asks_ || loop_.Now() < node.last_used + kNodeIdle || stats.queued + stats.in_flight > 0) {
      more = true;
      continue;
    }
    const std::lock_guard lock(nodes_mutex_);
    gone_ += stats;
    gone_.connected = 0;
    gone_.breakers_closed = 0;
    gone_.breakers_open = 0;
    gone_.breakers_half_open = 0;
    node.client.reset();
  }
  if (more) sweep_.Set(loop_.Now() + kNodeIdle);
}

void ClusterClient::Reject(Handler handler, Failure failure, const std::string& message) {
  unsent_.push_back(
      {std::move(handler), {failure, Execution::kNotSent, address_ + ": " + message}});
  turn_end_.Schedule();
}

void ClusterClient::RunUnsent() {
  const std::vector<Unsent> unsent = std::exchange(unsent_, {});
  for (const Unsent& call : unsent) call.handler(Answer(call.error));
}

Stats ClusterClient::StatsApprox() const {
  const std::lock_guard lock(nodes_mutex_);
  Stats sum = gone_;
  sum.state = map_state_.load(std::memory_order_relaxed);
  for (const Node& node : nodes_) {
    if (!node.client) continue;
    const Stats stats = node.client->StatsApprox();
    sum += stats;
    if (sum.state == State::kReady && node.owns && stats.state == State::kWaiting) {
      sum.state = State::kWaiting;
    }
  }
  return sum;
}

}  // namespace sluice::redis
