#include "transport/listener_group.h"

#include <atomic>
#include <utility>

#include <sys/socket.h>

namespace sluice::transport {
namespace {

// Each loop has its part of the reserve, and at least one place.
ListenerGroupOptions Divided(ListenerGroupOptions options, std::size_t loops) {
  options.limits.reserved = (options.reserved + loops - 1) / loops;
  return options;
}

}  // namespace

ListenerGroup::ListenerGroup(net::Loop& main, net::Loops& loops, Admission& admission,
                             MemoryBudget& memory, const ListenerGroupOptions& options,
                             const std::function<MakeSession(std::size_t loop)>& make_session)
    : main_(main), loops_(loops), admission_(admission), options_(Divided(options, loops.size())) {
  std::vector<MakeSession> makers;
  for (std::size_t i = 0; i < loops.size(); ++i) makers.push_back(make_session(i));
  connections_.resize(loops.size());
  loops.Do([&](std::size_t i) {
    connections_[i] =
        std::make_unique<Connections>(loops[i], admission, memory, options_.limits,
                                      options_.proxies, options_.refusal, std::move(makers[i]));
  });
}

ListenerGroup::~ListenerGroup() {
  acceptors_.clear();
  // After connections that were posted to the loops and not adopted yet.
  loops_.Do([this](std::size_t i) { connections_[i].reset(); });
}

Result<net::ListenAddress> ListenerGroup::Listen(const net::ListenOptions& options,
                                                 Security security) {
  auto acceptor = net::Acceptor::Listen(
      main_, options, [this, security](net::Fd socket, const net::PeerAddress& peer) {
        OnAccept(std::move(socket), peer, security);
      });
  if (!acceptor) return acceptor.error();
  acceptors_.push_back(*std::move(acceptor));
  return acceptors_.back()->address();
}

void ListenerGroup::OnAccept(net::Fd socket, const net::PeerAddress& peer, Security security) {
  const Admission::Verdict verdict = admission_.Enter(peer);
  std::optional<Refusal> refusal;
  if (verdict != Admission::Verdict::kAdmitted) {
    refusal = verdict == Admission::Verdict::kTooMany ? Refusal::kMaxConnections
                                                      : Refusal::kMaxPerAddress;
  }
  if (refusal && (options_.reserved == 0 || !admission_.EnterReserve())) {
    counters_.refused[*refusal].Add();
    if (security == Security::kTls) return;
    // Fits into the socket's empty buffer, or is not worth waiting for.
    static_cast<void>(send(socket.get(), options_.refusal.data(), options_.refusal.size(),
                           MSG_NOSIGNAL | MSG_DONTWAIT));
    return;
  }
  const std::size_t index = next_;
  next_ = (next_ + 1) % loops_.size();
  // Shared, since a std::function can be copied. Dropped with it, if the loop ends before.
  auto passed = std::make_shared<net::Fd>(std::move(socket));
  auto tls = security == Security::kTls ? tls_->Get().Share() : nullptr;
  loops_[index].Post(
      [this, index, passed = std::move(passed), peer, tls = std::move(tls), refusal] {
        connections_[index]->Adopt(std::move(*passed), peer, tls, refusal);
      });
}

void ListenerGroup::Drain(SteadyTime deadline, std::function<void()> on_empty) {
  for (const auto& acceptor : acceptors_) acceptor->Close();
  const auto left = std::make_shared<std::atomic<std::size_t>>(loops_.size());
  loops_.Post([this, deadline, left, on_empty = std::move(on_empty)](std::size_t i) {
    connections_[i]->Drain(deadline, [this, left, on_empty] {
      if (left->fetch_sub(1) == 1) main_.Post(on_empty);
    });
  });
}

ConnectionCounters ListenerGroup::Totals() const {
  ConnectionCounters totals;
  totals += counters_;
  for (const auto& connections : connections_) totals += connections->counters();
  for (const auto& acceptor : acceptors_) {
    totals.refused[Refusal::kNoDescriptors] += acceptor->counters().fd_limit;
  }
  return totals;
}

}  // namespace sluice::transport
