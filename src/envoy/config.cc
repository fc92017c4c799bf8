#include "envoy/config.h"

namespace sluice::envoy {

struct Domain::Tables {
  std::string name;
};

Domain::Domain() : tables_(std::make_unique<Tables>()) {}
Domain::~Domain() = default;

std::string_view Domain::name() const { return tables_->name; }

const Node* Domain::Find(std::span<const Entry> entries, FoundKey& key) const {
  KeyOf(entries, key);
  return nullptr;
}

void Domain::KeyOf(std::span<const Entry> /*entries*/, FoundKey& key) const { key.text_.clear(); }

Config::Config() = default;
Config::~Config() = default;

const Domain* Config::FindDomain(std::string_view /*name*/) const { return nullptr; }

std::span<const std::unique_ptr<const Domain>> Config::domains() const { return domains_; }

std::span<const Node* const> Config::nodes() const { return nodes_; }

}  // namespace sluice::envoy
