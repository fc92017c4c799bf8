#include "envoy/domain_tables.h"

#include "base/key.h"
#include "base/text_hash.h"

namespace sluice::envoy {
namespace {

constexpr std::size_t kSmallest = 16;

std::uint64_t HashOf(std::uint32_t parent, std::string_view key) { return HashText(key, parent); }

std::uint64_t HashOf(std::uint32_t parent, std::string_view key, std::string_view value) {
  return HashText(value, HashOf(parent, key));
}

// In a glob '?' and '\' mean something, here they don't.
rules::Glob GlobOf(std::string_view value) {
  std::string text;
  for (const char c : value) {
    if (c == '?' || c == '\\') text.push_back('\\');
    text.push_back(c);
  }
  return *rules::Glob::Compile(text);
}

}  // namespace

DomainTables::DomainTables(std::string name) : name_(std::move(name)) {
  for (std::size_t i = 0; i < scopes_of_requests_.size(); ++i) {
    AppendPercentEncoded(name_, scopes_of_requests_[i]);
    scopes_of_requests_[i].append("/:").append(NameOf(static_cast<Unit>(i)));
  }
}

template <typename IsIt>
std::uint32_t DomainTables::Find(const Table& table, std::uint64_t hash, IsIt is_it) {
  if (table.empty()) return kNone;
  const std::size_t mask = table.size() - 1;
  for (std::size_t at = hash & mask; table[at] != kNone; at = (at + 1) & mask) {
    if (is_it(table[at])) return table[at];
  }
  return kNone;
}

void DomainTables::Insert(Table& table, std::uint64_t hash, std::uint32_t index) {
  const std::size_t mask = table.size() - 1;
  std::size_t at = hash & mask;
  while (table[at] != kNone) at = (at + 1) & mask;
  table[at] = index;
}

void DomainTables::Grow() {
  if (descriptors_.size() * 2 < exact_.size()) return;
  const std::size_t size = std::max(kSmallest, exact_.size() * 2);
  exact_.assign(size, kNone);
  by_key_.assign(size, kNone);
  for (const Descriptor& each : descriptors_) {
    Insert(exact_, HashOf(each.parent, each.key, each.value), each.id - 1);
  }
  for (std::uint32_t i = 0; i < groups_.size(); ++i) {
    const Descriptor& first = descriptors_[groups_[i].first];
    Insert(by_key_, HashOf(first.parent, first.key), i);
  }
}

const Descriptor* DomainTables::FindExact(std::uint32_t parent, std::string_view key,
                                          std::string_view value) const {
  const std::uint32_t found = Find(exact_, HashOf(parent, key, value), [&](std::uint32_t i) {
    const Descriptor& each = descriptors_[i];
    return each.parent == parent && each.key == key && each.value == value;
  });
  return found == kNone ? nullptr : &descriptors_[found];
}

const DomainTables::Group* DomainTables::FindGroup(std::uint32_t parent,
                                                   std::string_view key) const {
  const std::uint32_t found = Find(by_key_, HashOf(parent, key), [&](std::uint32_t i) {
    const Descriptor& first = descriptors_[groups_[i].first];
    return first.parent == parent && first.key == key;
  });
  return found == kNone ? nullptr : &groups_[found];
}

Descriptor* DomainTables::Add(std::uint32_t parent, std::string_view key, std::string_view value) {
  if (FindExact(parent, key, value) != nullptr) return nullptr;
  Grow();
  Descriptor& added = descriptors_.emplace_back();
  added.key = key;
  added.value = value;
  added.parent = parent;
  added.id = static_cast<std::uint32_t>(descriptors_.size());
  Insert(exact_, HashOf(parent, key, value), added.id - 1);
  if (!value.empty() && !IsWildcard(value)) return &added;
  const Group* found = FindGroup(parent, key);
  if (found == nullptr) {
    groups_.push_back({.first = added.id - 1, .alone = nullptr, .wildcards = {}});
    Insert(by_key_, HashOf(parent, key), static_cast<std::uint32_t>(groups_.size() - 1));
    found = &groups_.back();
  }
  Group& group = groups_[static_cast<std::size_t>(found - groups_.data())];
  if (value.empty()) {
    group.alone = &added;
  } else {
    group.wildcards.emplace_back(GlobOf(value), &added);
  }
  return &added;
}

const Descriptor* DomainTables::Choose(std::uint32_t parent, const Entry& entry) const {
  // A value that is empty is no value: only the key, or a wildcard for it, can be meant.
  if (!entry.value.empty()) {
    if (const Descriptor* exact = FindExact(parent, entry.key, entry.value)) return exact;
  }
  const Group* group = FindGroup(parent, entry.key);
  if (group == nullptr) return nullptr;
  for (const auto& [glob, descriptor] : group->wildcards) {
    if (glob.Matches(entry.value)) return descriptor;
  }
  return group->alone;
}

std::string_view DomainTables::scope_of_requests(Unit unit) const {
  const auto index = static_cast<std::size_t>(unit);
  return scopes_of_requests_[index < scopes_of_requests_.size() ? index : 0];
}

}  // namespace sluice::envoy
