#include "envoy/domain_tables.h"

#include "base/key.h"
#include "base/text_hash.h"

namespace sluice::envoy {
namespace {

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

const Descriptor* DomainTables::FindExact(std::uint32_t parent, std::string_view key,
                                          std::string_view value) const {
  const Slot* const place = exact_.Find(HashOf(parent, key, value), [&](const Slot& each) {
    const Descriptor& descriptor = descriptors_[each.index];
    return descriptor.parent == parent && descriptor.key == key && descriptor.value == value;
  });
  return place == nullptr ? nullptr : &descriptors_[place->index];
}

const DomainTables::Group* DomainTables::FindGroup(std::uint32_t parent,
                                                   std::string_view key) const {
  const Slot* const place = by_key_.Find(HashOf(parent, key), [&](const Slot& each) {
    const Descriptor& first = descriptors_[groups_[each.index].first];
    return first.parent == parent && first.key == key;
  });
  return place == nullptr ? nullptr : &groups_[place->index];
}

Descriptor* DomainTables::Add(std::uint32_t parent, std::string_view key, std::string_view value) {
  if (FindExact(parent, key, value) != nullptr) return nullptr;
  exact_.GrowFor(descriptors_.size() + 1, [this](const Slot& each) {
    const Descriptor& descriptor = descriptors_[each.index];
    return HashOf(descriptor.parent, descriptor.key, descriptor.value);
  });
  Descriptor& added = descriptors_.emplace_back();
  added.key = key;
  added.value = value;
  added.parent = parent;
  added.id = static_cast<std::uint32_t>(descriptors_.size());
  exact_.Empty(HashOf(parent, key, value)) = {added.id - 1};
  if (!value.empty() && !IsWildcard(value)) return &added;
  const Group* found = FindGroup(parent, key);
  if (found == nullptr) {
    by_key_.GrowFor(groups_.size() + 1, [this](const Slot& each) {
      const Descriptor& first = descriptors_[groups_[each.index].first];
      return HashOf(first.parent, first.key);
    });
    by_key_.Empty(HashOf(parent, key)) = {static_cast<std::uint32_t>(groups_.size())};
    groups_.push_back({.first = added.id - 1, .alone = nullptr, .wildcards = {}});
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
  // An empty value matches only the key alone, or a wildcard.
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
