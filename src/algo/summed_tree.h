#pragma once

#include <algorithm>
#include <bit>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace sluice::algo {

/// Approximate overhead of malloc per block.
inline constexpr std::size_t kBlockOverhead = 16;

/// Sort key of an entry: time, then id.
struct EntryKey {
  std::int64_t time = 0;
  std::uint64_t id = 0;

  friend auto operator<=>(const EntryKey&, const EntryKey&) = default;
};

/// A B+ tree of entries sorted by key, whose nodes have the count and the total cost of their
/// entries. Everything but ForEach and copying takes O(log n). Up to 64 entries are one array.
/// `Entry` has a unique `key()` and a member `cost`.
template <typename Entry>
class SummedTree {
 public:
  struct Sums {
    std::int64_t cost = 0;
    std::size_t count = 0;
  };

  SummedTree() = default;
  SummedTree(const SummedTree& other) { *this = other; }
  SummedTree& operator=(const SummedTree& other) {
    if (this == &other) return *this;
    root_ = other.root_ ? std::make_unique<Node>(*other.root_) : nullptr;
    nodes_ = other.nodes_;
    reserved_bytes_ = other.reserved_bytes_;
    return *this;
  }
  SummedTree(SummedTree&&) noexcept = default;
  SummedTree& operator=(SummedTree&&) noexcept = default;
  ~SummedTree() = default;

  [[nodiscard]] bool empty() const { return root_ == nullptr; }
  [[nodiscard]] std::size_t size() const { return empty() ? 0 : root_->count; }
  /// Returns the sum of the costs of all entries.
  [[nodiscard]] std::int64_t total() const { return empty() ? 0 : root_->cost; }
  /// Returns the last entry. Precondition: not empty.
  [[nodiscard]] const Entry& back() const {
    const Node* node = root_.get();
    while (!node->is_leaf()) node = node->children.back().get();
    return node->entries.back();
  }

  /// Returns count and cost of the entries before `time`.
  [[nodiscard]] Sums Before(std::int64_t time) const {
    Sums sums;
    const EntryKey end{time, 0};
    for (const Node* node = root_.get(); node != nullptr;) {
      if (node->is_leaf()) {
        for (const Entry& entry : node->entries) {
          if (entry.key() >= end) break;
          sums.cost += entry.cost;
          ++sums.count;
        }
        break;
      }
      const std::size_t chosen = node->ChildFor(end);
      for (std::size_t i = 0; i < chosen; ++i) {
        sums.cost += node->children[i]->cost;
        sums.count += node->children[i]->count;
      }
      node = node->children[chosen].get();
    }
    return sums;
  }

  /// Returns the entry at which the running sum of costs reaches `cost`; null if it never does.
  [[nodiscard]] const Entry* WhereCostReaches(std::int64_t cost) const {
    if (empty() || root_->cost < cost) return nullptr;
    const Node* node = root_.get();
    while (!node->is_leaf()) {
      std::size_t i = 0;
      while (node->children[i]->cost < cost) cost -= node->children[i++]->cost;
      node = node->children[i].get();
    }
    auto entry = node->entries.begin();
    while (entry->cost < cost) cost -= (entry++)->cost;
    return &*entry;
  }

  /// Returns the entry with this key, or null.
  [[nodiscard]] const Entry* Find(const EntryKey& key) const {
    const Entry* const found = FirstFrom(key);
    return found != nullptr && found->key() == key ? found : nullptr;
  }

  /// Returns the first entry with this key or a later one, or null.
  [[nodiscard]] const Entry* FirstFrom(const EntryKey& key) const {
    const Entry* after = nullptr;  // The first entry after the node.
    for (const Node* node = root_.get(); node != nullptr;) {
      if (node->is_leaf()) {
        const auto found = node->PlaceOf(key);
        return found != node->entries.end() ? &*found : after;
      }
      const std::size_t chosen = node->ChildFor(key);
      if (chosen + 1 < node->children.size()) after = &node->children[chosen + 1]->front();
      node = node->children[chosen].get();
    }
    return nullptr;
  }

  /// Inserts an entry. Precondition: its key is absent.
  void Insert(const Entry& entry) {
    if (empty()) {
      root_ = std::make_unique<Node>();
      nodes_.leaves = 1;
    }
    std::unique_ptr<Node> split = root_->Insert(entry, nodes_);
    if (!split) return;
    auto above = std::make_unique<Node>();
    ++nodes_.inner;
    above->cost = root_->cost + split->cost;
    above->count = root_->count + split->count;
    above->first = root_->first;
    above->children.push_back(std::move(root_));
    above->children.push_back(std::move(split));
    root_ = std::move(above);
  }

  /// Changes the cost of an entry. Precondition: it is present.
  void SetCost(const EntryKey& key, std::int64_t cost) {
    const std::int64_t change = cost - Find(key)->cost;
    Node* node = root_.get();
    while (!node->is_leaf()) {
      node->cost += change;
      node = node->children[node->ChildFor(key)].get();
    }
    node->cost += change;
    node->PlaceOf(key)->cost = cost;
  }

  /// Erases an entry. Precondition: it is present.
  void Erase(const EntryKey& key) {
    root_->Erase(key, Find(key)->cost, nodes_);
    if (root_->count == 0) {
      root_.reset();
      nodes_ = {};
      return;
    }
    while (!root_->is_leaf() && root_->children.size() == 1) {
      std::unique_ptr<Node> only = std::move(root_->children[0]);
      root_ = std::move(only);
      --nodes_.inner;
    }
  }

  /// Erases entries before `time`, oldest first, at most `most` of them.
  void EraseBefore(std::int64_t time, std::size_t most) {
    for (; most > 0 && !empty(); --most) {
      const EntryKey key = root_->front().key();
      if (key.time >= time) return;
      Erase(key);
    }
  }

  template <typename Visit>
  void ForEach(Visit visit) const {
    if (root_) root_->ForEach(visit);
  }

  /// Returns the approximate heap memory in use or reserved (see Reserve).
  [[nodiscard]] std::size_t Bytes() const { return std::max(HeldBytes(), reserved_bytes_); }
  /// Returns by how much Bytes must grow before `more` entries are inserted.
  [[nodiscard]] std::size_t BytesToGrow(std::size_t more) const {
    const std::size_t needed = BytesWith(more);
    return needed > Bytes() ? needed - Bytes() : 0;
  }
  /// Includes the bytes for `more` entries in Bytes, which does not grow while they are inserted.
  void Reserve(std::size_t more) { reserved_bytes_ = Bytes() + BytesToGrow(more); }

 private:
  static constexpr std::size_t kMost = 64;         ///< Entries or children of a node.
  static constexpr std::size_t kRoom = kMost + 1;  ///< One more before a node is split.

  struct Nodes {
    std::size_t leaves = 0;
    std::size_t inner = 0;
  };

  struct Node {
    Node() = default;
    Node(const Node& other)
        : cost(other.cost), count(other.count), first(other.first), entries(other.entries) {
      for (const auto& child : other.children) children.push_back(std::make_unique<Node>(*child));
    }
    Node& operator=(const Node&) = delete;

    [[nodiscard]] bool is_leaf() const { return children.empty(); }

    /// Returns the child whose range contains the key.
    [[nodiscard]] std::size_t ChildFor(const EntryKey& key) const {
      const auto after = std::upper_bound(
          children.begin() + 1, children.end(), key,
          [](const EntryKey& k, const std::unique_ptr<Node>& child) { return k < child->first; });
      return static_cast<std::size_t>(after - children.begin()) - 1;
    }

    [[nodiscard]] auto PlaceOf(const EntryKey& key) const {
      return std::lower_bound(entries.begin(), entries.end(), key,
                              [](const Entry& e, const EntryKey& k) { return e.key() < k; });
    }
    [[nodiscard]] auto PlaceOf(const EntryKey& key) {
      return std::lower_bound(entries.begin(), entries.end(), key,
                              [](const Entry& e, const EntryKey& k) { return e.key() < k; });
    }

    [[nodiscard]] const Entry& front() const {
      const Node* node = this;
      while (!node->is_leaf()) node = node->children.front().get();
      return node->entries.front();
    }

    /// Returns a new right sibling if the node was split.
    std::unique_ptr<Node> Insert(const Entry& entry, Nodes& nodes) {
      cost += entry.cost;
      ++count;
      if (is_leaf()) {
        if (entries.size() == entries.capacity()) entries.reserve(CapacityFor(entries.size() + 1));
        const auto place = entries.insert(PlaceOf(entry.key()), entry);
        const bool last = place + 1 == entries.end();
        first = entries.front().key();
        // Entries inserted in order leave full nodes.
        return entries.size() > kMost ? SplitAt(last ? kMost : kMost / 2, nodes) : nullptr;
      }
      first = std::min(first, entry.key());
      const std::size_t chosen = ChildFor(entry.key());
      std::unique_ptr<Node> split = children[chosen]->Insert(entry, nodes);
      if (!split) return nullptr;
      const bool last = chosen + 1 == children.size();
      children.insert(children.begin() + static_cast<std::ptrdiff_t>(chosen) + 1, std::move(split));
      return children.size() > kMost ? SplitAt(last ? kMost : kMost / 2, nodes) : nullptr;
    }

    std::unique_ptr<Node> SplitAt(std::size_t at, Nodes& nodes) {
      auto right = std::make_unique<Node>();
      const auto place = static_cast<std::ptrdiff_t>(at);
      if (is_leaf()) {
        ++nodes.leaves;
        right->entries.reserve(kRoom);
        right->entries.assign(entries.begin() + place, entries.end());
        entries.resize(at);
        for (const Entry& entry : right->entries) right->cost += entry.cost;
        right->count = right->entries.size();
        right->first = right->entries.front().key();
      } else {
        ++nodes.inner;
        right->children.reserve(kRoom);
        for (auto child = children.begin() + place; child != children.end(); ++child) {
          right->cost += (*child)->cost;
          right->count += (*child)->count;
          right->children.push_back(std::move(*child));
        }
        children.resize(at);
        right->first = right->children.front()->first;
      }
      cost -= right->cost;
      count -= right->count;
      return right;
    }

    void Erase(const EntryKey& key, std::int64_t its_cost, Nodes& nodes) {
      cost -= its_cost;
      --count;
      if (is_leaf()) {
        entries.erase(PlaceOf(key));
        return;
      }
      const std::size_t chosen = ChildFor(key);
      children[chosen]->Erase(key, its_cost, nodes);
      if (children[chosen]->count == 0 && children.size() > 1) {
        const Node* node = children[chosen].get();
        for (; !node->is_leaf(); node = node->children[0].get()) --nodes.inner;
        --nodes.leaves;
        children.erase(children.begin() + static_cast<std::ptrdiff_t>(chosen));
      }
    }

    template <typename Visit>
    void ForEach(Visit& visit) const {
      for (const Entry& entry : entries) visit(entry);
      for (const auto& child : children) child->ForEach(visit);
    }

    std::int64_t cost = 0;
    std::size_t count = 0;
    EntryKey first;  ///< Lower bound of the entries' keys.
    std::vector<Entry> entries;
    std::vector<std::unique_ptr<Node>> children;
  };

  static constexpr std::size_t kNodeBytes = sizeof(Node) + 2 * kBlockOverhead;

  // A single leaf grows by doubling; otherwise nodes have full capacity.
  static std::size_t CapacityFor(std::size_t entries) {
    return entries > kMost / 2 ? kRoom : std::bit_ceil(entries);
  }

  static std::size_t BytesOf(const Nodes& nodes) {
    return nodes.leaves * (kNodeBytes + kRoom * sizeof(Entry)) +
           nodes.inner * (kNodeBytes + kRoom * sizeof(void*));
  }

  [[nodiscard]] std::size_t HeldBytes() const {
    if (empty()) return 0;
    if (!root_->is_leaf()) return BytesOf(nodes_);
    return kNodeBytes + root_->entries.capacity() * sizeof(Entry);
  }

  // Upper bound after inserting `more` entries: each may split a leaf, and some the nodes above.
  [[nodiscard]] std::size_t BytesWith(std::size_t more) const {
    if (more == 0) return HeldBytes();
    const bool one_leaf = empty() || root_->is_leaf();
    if (one_leaf && size() + more <= kMost) {
      const std::size_t capacity = empty() ? 0 : root_->entries.capacity();
      return kNodeBytes + std::max(capacity, CapacityFor(size() + more)) * sizeof(Entry);
    }
    std::size_t depth = 0;
    for (const Node* node = root_.get(); node != nullptr && !node->is_leaf(); ++depth) {
      node = node->children.front().get();
    }
    return BytesOf({.leaves = std::max<std::size_t>(nodes_.leaves, 1) + more,
                    .inner = nodes_.inner + depth + 1 + more / (kMost / 2)});
  }

  std::unique_ptr<Node> root_;
  Nodes nodes_;
  std::size_t reserved_bytes_ = 0;
};

}  // namespace sluice::algo
