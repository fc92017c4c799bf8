#include "envoy/config.h"

#include <algorithm>

#include "envoy/domain_tables.h"

namespace sluice::envoy {

Domain::Domain(std::unique_ptr<const DomainTables> tables) : tables_(std::move(tables)) {}
Domain::~Domain() = default;

std::string_view Domain::name() const { return tables_->name(); }

const Node* Domain::Find(std::span<const Entry> entries, FoundKey& key) const {
  key.Clear();
  const Descriptor* chosen = nullptr;
  std::uint32_t parent = DomainTables::kRoot;
  for (const Entry& entry : entries) {
    chosen = tables_->Choose(parent, entry);
    if (chosen == nullptr) return nullptr;
    if (chosen->counts_values) key.Add(entry.value);
    parent = chosen->id;
  }
  if (chosen == nullptr || chosen->node == nullptr) return nullptr;
  key.Finish(chosen->node->scope, chosen->node->rule.id);
  return chosen->node;
}

void Domain::KeyOf(std::span<const Entry> entries, FoundKey& key, Unit unit) const {
  key.Clear();
  // The first value comes first: it decides where in a cluster the counter lives.
  if (!entries.empty()) {
    key.Add(entries.front().value);
    key.Add(entries.front().key);
  }
  for (const Entry& entry : entries.empty() ? entries : entries.subspan(1)) {
    key.Add(entry.key);
    key.Add(entry.value);
  }
  key.Finish(tables_->scope_of_requests(unit), tables_->name());
}

void FoundKey::Clear() {
  rest_.clear();
  values_ = 0;
}

void FoundKey::Add(std::string_view value) {
  if (values_ == 0) tag_ = value;
  if (values_ > 1) rest_.push_back(':');
  if (values_ > 0) AppendPercentEncoded(value, rest_);
  ++values_;
}

void FoundKey::Finish(std::string_view scope, std::string_view tag_of_all) {
  scope_ = scope;
  if (values_ == 0) tag_ = tag_of_all;
}

Config::Config(std::vector<std::unique_ptr<const Domain>> domains, std::vector<const Node*> nodes)
    : domains_(std::move(domains)), nodes_(std::move(nodes)) {
  std::sort(domains_.begin(), domains_.end(),
            [](const auto& a, const auto& b) { return a->name() < b->name(); });
}

Config::~Config() = default;

const Domain* Config::FindDomain(std::string_view name) const {
  const auto found =
      std::lower_bound(domains_.begin(), domains_.end(), name,
                       [](const auto& domain, std::string_view n) { return domain->name() < n; });
  return found != domains_.end() && (*found)->name() == name ? found->get() : nullptr;
}

}  // namespace sluice::envoy
